// The one parallel loop of tamis. The items do not depend on the number of threads, and every item
// writes its own results, so results do not depend on it either.
#pragma once

#include <cstdint>
#include <type_traits>

#include <tamis/executor.h>

#include "core/inside.h"

namespace tamis::core {

/// The number of cores that the calling thread may use.
int hardware_thread_count();
/// The number of threads that a call uses if `wanted` are requested: all workers of the default
/// executor if `wanted` is 0 or less, and never more than those, since more would only wait for
/// each other.
TAMIS_INSIDE int thread_count(int wanted);

/// The workers of a loop: at most `threads` workers of an executor, by default the process's.
struct Crew {
  // NOLINTNEXTLINE(google-explicit-constructor): converts from a number of threads
  Crew(int at_most, Executor* on = nullptr) : threads(at_most), executor(on) {}
  int threads;
  Executor* executor;
};

/// Calls body(item, worker) once for each item in 0 … items − 1. `worker` is less than
/// crew.threads; it is the same for all items that run on the same thread, and 0 on the calling
/// thread. Items are handed out in order, one at a time. The first exception stops the loop and is
/// rethrown here. Allocates nothing. Inside another loop of several threads it runs on the calling
/// thread alone.
TAMIS_INSIDE void parallel_for_erased(std::int64_t items, const Crew& crew, void* context,
                                      void (*body)(void* context, std::int64_t item, int worker));

template <class Body>
void parallel_for(std::int64_t items, const Crew& crew, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  parallel_for_erased(items, crew, const_cast<void*>(static_cast<const void*>(&body)),
                      [](void* context, std::int64_t item, int worker) {
                        (*static_cast<Plain*>(context))(item, worker);
                      });
}

}  // namespace tamis::core
