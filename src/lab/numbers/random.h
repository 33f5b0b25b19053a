// Random numbers that depend only on (seed, purpose, row, draw): Random123's Philox4x32-10, a
// bijection of 128-bit counters for every key. Nothing is stored, so any thread may compute any
// number in any order and the bits are the same. A word costs one Philox block, about 10 ns.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tamis::lab::numbers {

/// The purpose of random numbers. Two purposes under one seed never share a number. Results that
/// were published with a seed depend on these values, so add new ones but never renumber.
enum class Purpose : std::uint16_t {
  test = 0,
  bench = 1,
  gaussian_null = 2,
  bootstrap = 3,
  split = 4,
  pattern = 5,
  jl = 6,
  dmin = 7,
  descent = 8,
  sweep = 9,
  order = 11,
};

/// The bijection itself: ten rounds of Philox4x32.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// The random numbers of one row. The key is the seed; the counter holds (row, purpose, attempt,
/// draw / 2) in fields of their own, so different arguments never meet in the same block.
///
/// A draw is the index of a 64-bit word, 0 … 2^32 − 1. The result of each function below depends on
/// one draw (for `normal`, on the pair of draws that contains it). Two numbers from the same draw
/// are dependent, so callers must keep track of the draws that they have used.
class Stream {
 public:
  Stream(std::uint64_t seed, Purpose purpose, std::uint64_t row)
      : seed_(seed), row_(row), purpose_(purpose) {}

  /// 64 random bits.
  [[nodiscard]] std::uint64_t bits(std::uint32_t draw) const { return word(draw, 0); }

  /// Uniform in the open interval (0, 1): one of the 2^52 odd multiples of 2^-53.
  [[nodiscard]] double uniform(std::uint32_t draw) const;

  /// Standard normal, by the method of Box and Muller. Draws 2i and 2i + 1 are the cosine and the
  /// sine made from the words 2i and 2i + 1, so either of them needs both words. |x| < 8.6. The
  /// last bits depend on the C library's log, sin and cos.
  [[nodiscard]] double normal(std::uint32_t draw) const;

  /// Uniform in 0 … n − 1, without bias. Throws `usage` if n = 0. Uses the word `draw`; with
  /// probability below n/2^64 that word is rejected and further words are used, which no other
  /// function reads.
  [[nodiscard]] std::uint64_t below(std::uint64_t n, std::uint32_t draw) const;

  /// out[i] = normal(first + i), with one block per pair.
  void fill_normal(std::span<double> out, std::uint32_t first = 0) const;

 private:
  [[nodiscard]] std::array<std::uint64_t, 2> block(std::uint32_t draw, std::uint16_t attempt) const;
  [[nodiscard]] std::uint64_t word(std::uint32_t draw, std::uint16_t attempt) const {
    return block(draw, attempt)[draw & 1U];
  }

  std::uint64_t seed_;
  std::uint64_t row_;
  Purpose purpose_;
};

}  // namespace tamis::lab::numbers
