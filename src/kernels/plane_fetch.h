// Fetching a plane of codes while another is worked on.
#pragma once

#include <cstdint>

namespace tamis {
namespace {

/// Asks for `lines` lines at every call, twice: into the second cache a plane ahead, which is long enough
/// for memory to answer, and into the first cache half a plane ahead, of which there is room for no more.
/// After stop() it asks for what is there already.
template <int lines>
struct PlaneFetch {
  const char* plane;
  const char* next;
  std::int64_t half;  ///< of a plane, in bytes
  std::int64_t at = 0;

  PlaneFetch(const std::uint8_t* here, const std::uint8_t* after, std::int64_t d32)
      : plane(reinterpret_cast<const char*>(here)),
        next(reinterpret_cast<const char*>(after)),
        half(32 * d32) {}

  inline __attribute__((always_inline)) void operator()() {
    const char* soon = at < half ? plane + half + at : next + (at - half);
    for (int line = 0; line < lines; ++line) {
      __builtin_prefetch(soon + 64 * line, 0, 3);
      __builtin_prefetch(next + at + 64 * line, 0, 2);
    }
    at += 64 * lines;
  }
  void stop() { next = plane, half = at = 0; }
};

}  // namespace
}  // namespace tamis
