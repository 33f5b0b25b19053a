// Threads that compute points, one point on each at a time. The thread that made the pool hands
// points out and collects what became of them.
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
  /// Points in flight are told to stop, and lost.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Threads that have nothing to do.
  [[nodiscard]] int idle() const { return static_cast<int>(threads_.size()) - given_; }
  /// For an idle thread.
  void give(std::size_t point);
  /// All that ended since, waiting up to `patience` for the first.
  std::vector<Outcome> take(std::chrono::milliseconds patience);

 private:
  void work();
  void stop();
  [[nodiscard]] Outcome compute(std::size_t point) const;

  const Work& work_;
  std::atomic<bool> stopping_{false};
  int given_ = 0;  // and not yet taken; of the making thread alone
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::condition_variable ended_;
  std::deque<std::size_t> points_;
  std::vector<Outcome> outcomes_;
  std::vector<std::jthread> threads_;
};

}  // namespace tamis::lab::sweep
