// The library's own threads. They are made when first needed, look for work for a moment after they
// had some, and then sleep: a thread that goes on looking takes a core from whoever else works on
// the machine. A caller never waits for a thread that has not begun, so a busy machine costs it one
// item at most.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <tamis/executor.h>

namespace tamis::core {

class ThreadPool final : public Executor {
 public:
  /// Runs at most `workers` at once for one caller, whose thread is one of them.
  explicit ThreadPool(int workers);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int concurrency() const override;
  /// Helpers that work for other callers are left out. Allocates when it makes a thread.
  void run(int workers, void* context, void (*body)(void* context, int worker)) override;
  /// Ends all threads but those in the middle of work; `run` then works on the calling thread
  /// alone.
  void stop();
  /// In a child made by fork, which has none of the threads.
  void forget_threads();

 private:
  struct Helper;

  bool made(int helper);

  int helpers_;  ///< at most
  std::unique_ptr<Helper[]> helper_;
  std::atomic<int> made_{0};  ///< those with a thread come first
  std::atomic<bool> may_make_{true};
  std::mutex making_;
};

/// The pool of this process, with as many workers as the machine has cores. It lives for ever; its
/// threads end when the process or the library does, and a child made by fork makes its own.
ThreadPool& own_threads();

}  // namespace tamis::core
