#include "core/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "core/parallel.h"

namespace tamis::core {
namespace {

/// How long a thread spins before it sleeps. This is ten times what it takes to wake a thread, so
/// that no thread has to be woken after the stretches between the loops of a decode step, which
/// take tens of microseconds on one thread.
constexpr std::chrono::microseconds patience{250};

void breathe() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

enum State : int {
  resting,  ///< nothing to do
  offered,  ///< has work from the caller that claimed it, who may still take the work back
  working,
  leaving,
};

/// Returns when `state` is no longer `value`; sleeps if that takes longer than `patience`.
void await_change(const std::atomic<int>& state, int value) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + patience;
  do {
    for (int look = 0; look < 32; ++look) {
      if (state.load(std::memory_order_acquire) != value) return;
      breathe();
    }
  } while (Clock::now() < end);
  state.wait(value, std::memory_order_acquire);
}

}  // namespace

/// One thread. A caller claims a helper before it touches its other members. `state` is shared by
/// both: the caller offers work and takes it back, the thread begins and ends it.
struct alignas(64) ThreadPool::Helper {
  std::atomic<bool> claimed{false};
  std::atomic<int> state{resting};
  void (*body)(void*, int) = nullptr;
  void* context = nullptr;
  int worker = 0;
  Helper* next = nullptr;  ///< links the helpers that one caller has claimed
  std::thread thread;

  /// The store is sequentially consistent because `notify_one` checks whether anybody sleeps.
  void set(State to) {
    state.store(to);
    state.notify_one();
  }

  void live() {
    for (;;) {
      await_change(state, resting);
      int now = offered;
      if (state.compare_exchange_strong(now, working)) {
        body(context, worker);
        set(resting);
      } else if (now == leaving) {
        return;
      }
    }
  }

  /// Takes the work back, or waits until it is done.
  void release() {
    int now = offered;
    if (!state.compare_exchange_strong(now, resting))
      while (state.load(std::memory_order_acquire) == working) await_change(state, working);
    claimed.store(false, std::memory_order_release);
  }
};

ThreadPool::ThreadPool(int workers)
    : helpers_(std::max(0, workers - 1)), helper_(new Helper[static_cast<std::size_t>(helpers_)]) {}

ThreadPool::~ThreadPool() { stop(); }

int ThreadPool::concurrency() const { return std::min(hardware_thread_count(), helpers_ + 1); }

/// Whether this helper has a thread; starts one if not. All helpers before it must have one.
bool ThreadPool::made(int helper) {
  if (helper < made_.load(std::memory_order_acquire)) return true;
  if (!may_make_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(making_);
  if (helper < made_.load(std::memory_order_relaxed)) return true;
  if (!may_make_.load(std::memory_order_relaxed)) return false;
  // The new thread blocks all signals, so that the threads of the program handle them.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  Helper& fresh = helper_[static_cast<std::size_t>(helper)];
  try {
    fresh.thread = std::thread([&fresh] { fresh.live(); });
    made_.store(helper + 1, std::memory_order_release);
  } catch (...) {  // the system has no more threads, so the existing ones do the work
    may_make_ = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return helper < made_.load(std::memory_order_relaxed);
}

void ThreadPool::run(int workers, void* context, void (*body)(void* context, int worker)) {
  Helper* claimed = nullptr;
  int worker = 1;
  for (int i = 0; i < helpers_ && worker < workers && made(i); ++i) {
    Helper& helper = helper_[static_cast<std::size_t>(i)];
    if (helper.claimed.load(std::memory_order_relaxed) ||
        helper.claimed.exchange(true, std::memory_order_acquire))
      continue;
    helper.body = body;
    helper.context = context;
    helper.worker = worker++;
    helper.next = std::exchange(claimed, &helper);
    helper.set(offered);
  }
  body(context, 0);
  while (claimed != nullptr) std::exchange(claimed, claimed->next)->release();
}

void ThreadPool::stop() {
  const std::lock_guard lock(making_);
  may_make_ = false;
  for (int i = 0; i < made_; ++i) {
    Helper& helper = helper_[static_cast<std::size_t>(i)];
    if (helper.claimed.exchange(true, std::memory_order_acquire)) continue;
    helper.set(leaving);
    helper.thread.join();
  }
}

void ThreadPool::forget_threads() {
  // Other threads may have been stopped anywhere, so the old contents must not be read.
  new (&making_) std::mutex;
  for (int i = 0; i < helpers_; ++i) new (&helper_[static_cast<std::size_t>(i)]) Helper;
  made_ = 0;
  may_make_ = true;
}

namespace {

std::atomic<ThreadPool*> own{nullptr};

/// Exists from the loading of the library until it is unloaded or the process exits.
struct Lifetime {
  Lifetime() {
    ::pthread_atfork(nullptr, nullptr, [] {
      if (own != nullptr) own.load()->forget_threads();
    });
  }
  ~Lifetime() {
    if (own != nullptr) own.load()->stop();
  }
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;
} lifetime;

}  // namespace

ThreadPool& own_threads() {
  ThreadPool* pool = own.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  auto fresh =
      std::make_unique<ThreadPool>(static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))));
  if (own.compare_exchange_strong(pool, fresh.get(), std::memory_order_acq_rel))
    pool = fresh.release();
  return *pool;
}

}  // namespace tamis::core
