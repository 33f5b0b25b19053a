#include "support/certificates/sieve.h"

#include <fmt/format.h>

#include <cmath>

namespace tamis::test {
namespace {

Case attention_case(std::int64_t kv_heads, std::int64_t group, std::int64_t queries, std::int64_t d,
                    std::int64_t d_v, std::int64_t tokens, DType dtype, Kind kind) {
  Case c;
  c.shape = {
      group * kv_heads, kv_heads, queries, d, d_v, dtype, 1.0F / std::sqrt(static_cast<float>(d))};
  c.tokens = tokens;
  c.kind = kind;
  return c;
}

}  // namespace

std::string name(const SieveCase& c) {
  return fmt::format("{}_sinks{}", name(c.attention), c.sinks);
}

std::vector<SieveCase> sieve_cases() {
  std::vector<SieveCase> cases;
  const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  // Kinds of numbers, with varying prefixes and sinks.
  for (const DType dtype : dtypes)
    for (const Kind kind : all_kinds()) {
      SieveCase c;
      const auto i = static_cast<std::int64_t>(cases.size());
      c.attention = attention_case(1, 2, 2, 64, 64, 517 + i, dtype, kind);
      c.attention.causal = i % 3 == 0;
      c.attention.masked = i % 3 == 1;
      c.attention.hidden = i % 4 == 1 ? 70 : 0;
      c.sinks = i % 5 == 2 ? 0 : 4;
      cases.push_back(c);
    }
  // Head sizes, with values of the same size and of others.
  const std::int64_t sizes[] = {1, 3, 16, 64, 80, 96, 128, 256};
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    for (const std::size_t other : {i, std::size(sizes) - 1 - i}) {
      const DType dtype = dtypes[(i + other) % 3];
      for (const Kind kind : {Kind::peaked, Kind::outliers})
        cases.push_back({attention_case(2, 1, 1, sizes[i], sizes[other], 389, dtype, kind)});
    }
  // The head sizes with the largest sums.
  for (const std::int64_t size : {512, 1000, 1024})
    for (const Kind kind : {Kind::saturated, Kind::two_valued, Kind::aligned})
      cases.push_back({attention_case(1, 2, 1, size, 64, 300, dtypes[size % 3], kind)});
  // Groups and queries, with as many rows as can be read sparsely and with more.
  for (const std::int64_t group : {1, 3, 4, 8})
    for (const std::int64_t queries : {1, 2, 3, 4}) {
      SieveCase c{attention_case(2, group, queries, 32, 32, 700, dtypes[(group + queries) % 3],
                                 Kind::peaked)};
      c.attention.causal = queries % 2 == 0;
      cases.push_back(c);
    }
  // Tokens that are always raw: sinks, and those after the last whole block.
  for (const std::int64_t sinks : {0, 4, 128})
    for (const std::int64_t n : {640, 641, 700}) {
      SieveCase c{attention_case(1, 3, 1, 64, 32, n, DType::bf16, Kind::huge_sinks), sinks};
      c.attention.padded_rows = true;
      cases.push_back(c);
    }
  // Numbers of keys around multiples of the block, and 0.
  for (const std::int64_t n : {0, 1, 127, 128, 129, 255, 256, 257, 1281})
    cases.push_back({attention_case(1, 4, 1, 48, 48, n, DType::f16, Kind::peaked)});
  // Scales.
  for (const float scale : {0.0F, -0.5F, 1e-30F, 0x1p-149F, 30.0F, 1e15F, 1e30F}) {
    SieveCase c{attention_case(1, 3, 1, 64, 64, 600, DType::f32, Kind::normal)};
    c.attention.shape.scale = scale;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace tamis::test
