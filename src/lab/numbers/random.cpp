#include "lab/numbers/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "core/fail.h"

namespace tamis::lab::numbers {
namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

/// (2k + 1)·2^-53 for the upper 52 bits k of the word. It is exact in a double, and never 0 or 1.
double open_unit(std::uint64_t word) { return static_cast<double>((word >> 11) | 1U) * 0x1p-53; }

struct Pair {
  double cosine;
  double sine;
};

Pair box_muller(std::array<std::uint64_t, 2> words) {
  const double radius = std::sqrt(-2 * std::log(open_unit(words[0])));
  const double angle = 2 * std::numbers::pi * open_unit(words[1]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

struct Wide {
  std::uint64_t high;
  std::uint64_t low;
};

Wide multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  const philox4x32_ctr_t in{{counter[0], counter[1], counter[2], counter[3]}};
  const philox4x32_key_t k{{key[0], key[1]}};
  const philox4x32_ctr_t out = philox4x32_R(10, in, k);
  return {out.v[0], out.v[1], out.v[2], out.v[3]};
}

std::array<std::uint64_t, 2> Stream::block(std::uint32_t draw, std::uint16_t attempt) const {
  const std::uint32_t plane = (static_cast<std::uint32_t>(purpose_) << 16) | attempt;
  const auto out = philox({draw >> 1, plane, low(row_), high(row_)}, {low(seed_), high(seed_)});
  return {out[0] | static_cast<std::uint64_t>(out[1]) << 32,
          out[2] | static_cast<std::uint64_t>(out[3]) << 32};
}

double Stream::uniform(std::uint32_t draw) const { return open_unit(bits(draw)); }

double Stream::normal(std::uint32_t draw) const {
  const Pair pair = box_muller(block(draw, 0));
  return draw & 1U ? pair.sine : pair.cosine;
}

std::uint64_t Stream::below(std::uint64_t n, std::uint32_t draw) const {
  if (n == 0)
    core::fail(Code::usage, "a random integer below 0 was asked for; the bound must be at least 1");
  // floor(word·n / 2^64) takes every value equally often once words are rejected for which the low
  // half of the product is below 2^64 mod n (Lemire).
  const std::uint64_t uneven = (0 - n) % n;
  for (std::uint32_t attempt = 0; attempt < 0x10000; ++attempt) {
    const Wide product = multiply(word(draw, static_cast<std::uint16_t>(attempt)), n);
    if (product.low >= uneven) return product.high;
  }
  core::fail(Code::internal,
             "65536 random words in a row were rejected, which has probability below 2^-65536");
}

void Stream::fill_normal(std::span<double> out, std::uint32_t first) const {
  std::size_t i = 0;
  if (i < out.size() && first % 2 != 0) out[i++] = normal(first);
  for (; i + 1 < out.size(); i += 2) {
    const Pair pair = box_muller(block(first + static_cast<std::uint32_t>(i), 0));
    out[i] = pair.cosine;
    out[i + 1] = pair.sine;
  }
  if (i < out.size()) out[i] = normal(first + static_cast<std::uint32_t>(i));
}

}  // namespace tamis::lab::numbers
