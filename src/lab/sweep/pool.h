// A pool of threads that compute points, one point per thread at a time. The thread that made the
// pool hands out points and collects their outcomes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "lab/sweep/work.h"

namespace tamis::lab::sweep {

class Pool {
 public:
  Pool(const Work& work, int threads);
  /// Stops the points in flight; their results are lost.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The number of idle threads.
  [[nodiscard]] int idle() const { return static_cast<int>(threads_.size()) - given_; }
  /// Gives a point to an idle thread.
  void give(std::size_t point);
  /// Returns the outcomes since the last call. If there are none, waits up to `patience`
  /// for the first.
  std::vector<Outcome> take(std::chrono::milliseconds patience);

 private:
  void work();
  void stop();
  [[nodiscard]] Outcome compute(std::size_t point) const;

  const Work& work_;
  std::atomic<bool> stopping_{false};
  int given_ = 0;  // points given and not yet taken; used by the owner's thread only
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::condition_variable ended_;
  std::deque<std::size_t> points_;
  std::vector<Outcome> outcomes_;
  std::vector<std::jthread> threads_;
};

}  // namespace tamis::lab::sweep
