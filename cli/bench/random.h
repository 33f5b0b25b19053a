// Pseudo-random numbers that depend only on a seed, a purpose and an index, so that any thread may
// generate any of them.
#pragma once

#include <cstdint>

namespace tamis::cli {

/// The finaliser of SplitMix64, a bijection on 64-bit integers.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t what)
      : key_(mixed(mixed(seed + 1) + what * 0x9E3779B97F4A7C15U)) {}

  [[nodiscard]] std::uint64_t bits(std::int64_t i) const {
    return mixed(key_ + static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U);
  }
  /// Uniform in [0, 1).
  [[nodiscard]] double uniform(std::int64_t i) const {
    return static_cast<double>(bits(i) >> 11) * 0x1p-53;
  }
  /// Approximately normal with mean 0 and variance 1: the sum of four uniform numbers, so that its
  /// absolute value is at most 3.5.
  [[nodiscard]] float normal(std::int64_t i) const {
    const std::uint64_t x = bits(i);
    const auto sum = static_cast<std::int32_t>((x & 0xFFFF) + (x >> 16 & 0xFFFF) +
                                               (x >> 32 & 0xFFFF) + (x >> 48));
    constexpr float to_unit_variance = 1.7320508F / 65536;  // each part has variance 65536²/12
    return static_cast<float>(sum - 2 * 65535) * to_unit_variance;
  }

 private:
  std::uint64_t key_;
};

}  // namespace tamis::cli
