// Prefetching of a plane of codes while another is worked on.
#pragma once

#include <cstdint>

namespace tamis::kernels {
namespace {

template <int lines>
inline __attribute__((always_inline)) void fetch_lines(const char* soon, const char* later) {
  for (int line = 0; line < lines; ++line) {
    __builtin_prefetch(soon + 64 * line, 0, 3);
    __builtin_prefetch(later + 64 * line, 0, 2);
  }
}

/// Prefetches each line of the next plane twice: into the second-level cache one plane ahead, which
/// gives memory enough time to answer, and into the first-level cache half a plane ahead, as it has
/// no room for more. Each call fetches `lines` lines at both distances and advances. A caller that
/// prefetches by itself takes the addresses from soon() and later() and calls skip(). After stop()
/// the addresses lie in the current plane, which is cached already.
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

  [[nodiscard]] const char* soon() const {
    return at < half ? plane + half + at : next + (at - half);
  }
  [[nodiscard]] const char* later() const { return next + at; }
  void skip(std::int64_t bytes) { at += bytes; }
  inline __attribute__((always_inline)) void operator()() {
    fetch_lines<lines>(soon(), later());
    skip(64 * lines);
  }
  void stop() { next = plane, half = at = 0; }
};

/// Calls dots_of<R>(xi, dot, fetch_high, fetch_low) for all rows, up to four at a time. The first
/// call prefetches the next planes.
template <int lines, class DotsOf>
inline __attribute__((always_inline)) void for_rows(const std::uint8_t* high,
                                                    const std::uint8_t* low, std::int64_t d32,
                                                    const std::int16_t* xi, int rows, float* dot,
                                                    const std::uint8_t* next_high,
                                                    const std::uint8_t* next_low, DotsOf dots_of) {
  PlaneFetch<lines> fetch_high(high, next_high, d32);
  PlaneFetch<lines> fetch_low(low, next_low, d32);
  for (; rows >= 4; rows -= 4, xi += 4 * d32, dot += 4 * page_tokens) {
    dots_of.template operator()<4>(xi, dot, fetch_high, fetch_low);
    fetch_high.stop();
    fetch_low.stop();
  }
  if (rows == 3) dots_of.template operator()<3>(xi, dot, fetch_high, fetch_low);
  if (rows == 2) dots_of.template operator()<2>(xi, dot, fetch_high, fetch_low);
  if (rows == 1) dots_of.template operator()<1>(xi, dot, fetch_high, fetch_low);
}

}  // namespace
}  // namespace tamis::kernels
