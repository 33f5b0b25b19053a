// A parallel loop that stops when an iteration throws or Ctrl-C is pressed.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "terminal/interrupt.h"

namespace tamis::cli {

/// Calls body(i) for i in 0 … count − 1 on at most `threads` threads. Rethrows the first exception
/// of an iteration, and throws Error(cancelled) after Ctrl-C.
template <class Body>
void on_threads(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count && !failed && !interrupted(); i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> team;
  for (std::size_t t = 1; t < std::min(count, static_cast<std::size_t>(threads)); ++t)
    team.emplace_back(work);
  work();
  team.clear();
  if (failure) std::rethrow_exception(failure);
  stop_if_interrupted();
}

}  // namespace tamis::cli
