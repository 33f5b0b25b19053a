// The one parallel loop of tamis. Which items exist never depends on the number of threads, and every
// item writes its own results, so results do not depend on it either.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tamis {

int hardware_thread_count();

/// Calls body(item, worker) once for each item in 0 … items − 1, on at most `threads` threads;
/// worker < threads is the same for items that run on the same thread. Items are handed out in
/// order, one at a time. The first exception thrown stops the loop and is rethrown here.
/// With OpenMP nothing is allocated, and inside another parallel region it runs on the calling thread.
void parallel_for_erased(std::int64_t items, int threads, void* context,
                         void (*body)(void* context, std::int64_t item, int worker));

template <class Body>
void parallel_for(std::int64_t items, int threads, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  parallel_for_erased(
      items, threads, const_cast<void*>(static_cast<const void*>(&body)),
      [](void* context, std::int64_t item, int worker) { (*static_cast<Plain*>(context))(item, worker); });
}

}  // namespace tamis
