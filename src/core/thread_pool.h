// The library's own threads. They are started when first needed, spin for a moment after they had
// work, and then sleep, since a thread that keeps spinning takes a core from other programs. A
// caller never waits for a thread that has not begun, so a busy machine delays it by at most the
// time of one item.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <tamis/executor.h>

namespace tamis::core {

class ThreadPool final : public Executor {
 public:
  /// Runs at most `workers` at once for one caller, including the caller's own thread.
  explicit ThreadPool(int workers);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int concurrency() const override;
  /// Leaves out helpers that work for other callers. Allocates when it starts a thread.
  void run(int workers, void* context, void (*body)(void* context, int worker)) override;
  /// Ends all threads except those in the middle of work. After that `run` works on the calling
  /// thread alone.
  void stop();
  /// Must be called in a child made by fork, in which none of the threads exist.
  void forget_threads();

 private:
  struct Helper;

  bool made(int helper);

  int helpers_;  ///< the most threads that can be started
  std::unique_ptr<Helper[]> helper_;
  std::atomic<int> made_{0};  ///< helpers 0 … made_ − 1 have a thread
  std::atomic<bool> may_make_{true};
  std::mutex making_;
};

/// The pool of this process, with as many workers as the machine has cores. It is never destroyed;
/// its threads end when the process ends or the library is unloaded, and a child made by fork
/// starts its own.
ThreadPool& own_threads();

}  // namespace tamis::core
