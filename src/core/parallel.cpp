#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/fail.h"
#include "core/thread_pool.h"

namespace tamis {

int core::hardware_thread_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int core::thread_count(int wanted) {
  const int most = std::max(1, default_executor().concurrency());
  return wanted < 1 ? most : std::min(wanted, most);
}

namespace {

std::atomic<Executor*> given{nullptr};

/// Whether this thread is working on a loop that it shares with others.
thread_local bool in_a_loop = false;

/// Hands out items in order and remembers the first exception.
struct Queue {
  std::int64_t items;
  void* context;
  void (*body)(void*, std::int64_t, int);
  std::atomic<std::int64_t> next{0};
  std::mutex mutex{};
  std::exception_ptr error{};

  void work(int worker) noexcept {
    try {
      for (std::int64_t item = next++; item < items; item = next++) body(context, item, worker);
    } catch (...) {
      next = items;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  }
};

void share(void* queue, int worker) {
  const bool before = std::exchange(in_a_loop, true);
  static_cast<Queue*>(queue)->work(worker);
  in_a_loop = before;
}

}  // namespace

Executor& default_executor() {
  Executor* const executor = given.load(std::memory_order_acquire);
  return executor != nullptr ? *executor : core::own_threads();
}

void set_default_executor(Executor* executor) { given.store(executor, std::memory_order_release); }

void core::parallel_for_erased(std::int64_t items, const Crew& crew, void* context,
                               void (*body)(void*, std::int64_t, int)) {
  Queue queue{items, context, body};
  const int workers =
      static_cast<int>(std::clamp<std::int64_t>(items, 1, std::max(1, crew.threads)));
  if (workers == 1 || in_a_loop) {
    queue.work(0);
  } else {
    Executor& executor = crew.executor != nullptr ? *crew.executor : default_executor();
    executor.run(workers, &queue, share);
    if (queue.next < items)
      fail(Code::usage,
           "the executor returned before its worker 0 had run: {} of {} items were done",
           queue.next.load(), items);
  }
  if (queue.error) std::rethrow_exception(queue.error);
}

}  // namespace tamis
