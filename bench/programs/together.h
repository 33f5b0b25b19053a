// Runs the same work on several cores at once and returns how long all of it took.
#pragma once

#include <sched.h>

#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

inline void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// Returns the seconds from the moment when all threads are ready until the last has done work(t),
/// where thread t runs on cores[t]. Starting and ending the threads is not counted.
template <class Work>
double seconds_together(const int* cores, int threads, Work work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start, end;
  std::barrier meet(threads, [&]() noexcept {
    start = end;  // the second meeting moves the first one's time here
    end = Clock::now();
  });
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        pin_to(cores[t]);
        meet.arrive_and_wait();
        work(t);
        meet.arrive_and_wait();
      });
  }
  return std::chrono::duration<double>(end - start).count();
}
