#include "core/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#ifdef TAMIS_OPENMP
#include <omp.h>
#endif

namespace tamis {

int hardware_thread_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

namespace {

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

}  // namespace

void parallel_for_erased(std::int64_t items, int threads, void* context,
                         void (*body)(void*, std::int64_t, int)) {
  Queue queue{items, context, body};
  const int workers = static_cast<int>(std::clamp<std::int64_t>(items, 1, std::max(1, threads)));
#ifdef TAMIS_OPENMP
  if (workers == 1 || omp_in_parallel()) {
    queue.work(0);
  } else {
#pragma omp parallel num_threads(workers)
    queue.work(omp_get_thread_num());
  }
#else
  std::vector<std::jthread> others;
  for (int worker = 1; worker < workers; ++worker) {
    others.emplace_back([&queue, worker] { queue.work(worker); });
  }
  queue.work(0);
  others.clear();
#endif
  if (queue.error) std::rethrow_exception(queue.error);
}

}  // namespace tamis
