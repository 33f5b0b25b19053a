// Blocks that encode_head stores and decode_head reads back: the bytes are compared with a plain
// reference, and the bounds are checked in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <tamis/dtype.h>
#include "cache/encode.h"
#include "kernels/sieve.h"
#include "support/targets.h"

namespace tamis::cache {
namespace {

using tamis::test::for_each_target;

constexpr double u = 0x1p-24;

/// Numbers in the caller's memory.
struct Case {
  std::string name;
  /// The number in channel c of token j, made from a normal draw.
  std::function<double(std::int64_t j, std::int64_t c, double normal)> at;
  std::int32_t tokens = 128;
  std::vector<std::int32_t> raw = {};
  bool tight = true;  ///< numbers are large enough for stored bounds to be nearly attained
};

std::vector<Case> cases() {
  const auto same = [](auto, auto, double x) { return x; };
  return {
      {"normal", same},
      {"four sinks with huge norms",
       [](auto j, auto, double x) { return j < 4 ? 1000 * x : x; },
       128,
       {0, 1, 2, 3}},
      {"raw tokens here and there", same, 128, {5, 31, 32, 77, 127}},
      {"one token", same, 1},
      {"77 tokens, one of them raw", same, 77, {76}},
      {"all raw", same, 3, {0, 1, 2}, false},
      {"constant channels",
       [](auto, auto c, double x) { return c % 3 == 0 ? 3.7 * double(c) : x; }},
      {"all equal", [](auto, auto, double) { return -0.3; }},
      {"nearly constant, far from zero",
       [](auto, auto, double x) { return 1000 + 0.01 * x; },
       128,
       {},
       false},
      {"one outlier", [](auto j, auto c, double x) { return j == 77 && c == 0 ? 4000.0 : x; }},
      {"scales from 2^-12 to 2^12",
       [](auto, auto c, double x) { return std::ldexp(x, int(c % 25) - 12); }},
      {"duplicates", [](auto j, auto c, double) { return std::sin(double((j % 3) * 100 + c)); }},
      {"zeros of both signs",
       [](auto, auto, double x) { return x < 0 ? -0.0 : 0.0; },
       128,
       {},
       false},
      {"tiny", [](auto, auto, double x) { return 1e-35 * x; }, 128, {}, false},
  };
}

/// Numbers that only f32 can represent.
std::vector<Case> wide_cases() {
  return {
      {"up to 2^55",
       [](auto, auto, double x) { return std::ldexp(x < 0 ? -1.0 : std::tanh(x), 55); }},
      {"three raw tokens beyond 2^55",
       [](auto j, auto, double x) { return j % 50 == 7 ? std::ldexp(x, 100) : x; },
       128,
       {7, 57, 107}},
      {"scales from 2^-60 to 2^40",
       [](auto, auto c, double x) { return std::ldexp(x, int(c * 7 % 101) - 60); }},
      {"denormals", [](auto, auto, double x) { return std::ldexp(x, -145); }, 128, {}, false},
      {"ends of the range alone", [](auto j, auto, double) { return j % 2 == 0 ? 0.1 : 0.7; }},
  };
}

/// Rows in memory, `stride` elements apart, and their numbers.
struct Stored {
  std::vector<std::byte> bytes;
  std::vector<float> x;
  std::int64_t dim, stride;

  Stored(DType dtype, const Case& c, std::int64_t d, std::mt19937& random) : dim(d), stride(d + 3) {
    std::normal_distribution<double> normal;
    bytes.resize(static_cast<std::size_t>(c.tokens * stride * size_of(dtype)));
    for (std::int64_t j = 0; j < c.tokens; ++j)
      for (std::int64_t i = 0; i < d; ++i) {
        const auto y = static_cast<float>(c.at(j, i, normal(random)));
        std::byte* to = bytes.data() + (j * stride + i) * size_of(dtype);
        const auto put = [&](auto stored) {
          std::memcpy(to, &stored, sizeof stored);
          x.push_back(to_float(stored));
        };
        if (dtype == DType::f32) put(y);
        if (dtype == DType::f16) put(to_f16(y));
        if (dtype == DType::bf16) put(to_bf16(y));
      }
  }
  [[nodiscard]] float at(std::int64_t j, std::int64_t c) const {
    return x[static_cast<std::size_t>(j * dim + c)];
  }
};

/// A case coded by the kernels in force.
struct Coded {
  Layout layout;
  Stored k, v;
  EncodeSource source;
  int levels;
  std::array<std::vector<std::byte>, most_levels> page;

  Coded(const Case& c, DType dtype, std::int64_t key_dim, std::int64_t value_dim, int level_count)
      : Coded(c, dtype, key_dim, value_dim, level_count,
              std::mt19937(static_cast<unsigned>(1000 * key_dim + value_dim))) {}

  void encode(const kernels::Kernels& by) {
    std::vector<float> scratch(static_cast<std::size_t>(encode_scratch(layout)), NAN);
    std::array<std::byte*, most_levels> at{};
    for (int p = 0; p < levels; ++p) {
      const auto l = static_cast<std::size_t>(p);
      page[l].assign(layout.page_bytes(p), std::byte{0xAA});
      at[l] = page[l].data();
    }
    encode_head(by, layout, levels, source, scratch.data(),
                head_pages(layout, at.data(), levels, 0));
  }
  [[nodiscard]] HeadBlock block() const {
    std::array<const std::byte*, most_levels> at{};
    for (std::size_t p = 0; p < most_levels; ++p) at[p] = page[p].data();
    return head_block(layout, at.data(), levels, 0);
  }
  [[nodiscard]] bool raw(std::int64_t j) const {
    return (source.raw[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) != 0;
  }

 private:
  Coded(const Case& c, DType dtype, std::int64_t key_dim, std::int64_t value_dim, int level_count,
        std::mt19937 random)
      : layout(1, key_dim, value_dim),
        k(dtype, c, key_dim, random),
        v(dtype, c, value_dim, random),
        source{k.bytes.data(), v.bytes.data(), k.stride, v.stride, dtype, c.tokens, {}, nullptr},
        levels(level_count) {
    for (const std::int32_t j : c.raw)
      source.raw[static_cast<std::size_t>(j / 32)] |= 1U << (j % 32);
  }
};

/// The nibble of channel c of token j in a plane. Each function defines its plane's order anew.
int low_plane_nibble(const std::uint8_t* row, std::int64_t c) {
  constexpr std::array<std::int64_t, 4> order{0, 2, 1, 3};
  const std::int64_t at = c / 32 * 16 + c % 16 / 4 * 4 + order[static_cast<std::size_t>(c % 4)];
  return row[at] >> (c % 32 < 16 ? 0 : 4) & 15;
}
int high_plane_nibble(const std::uint8_t* plane, std::int64_t d32, std::int64_t j, std::int64_t c) {
  constexpr std::array<std::int64_t, 4> order{0, 2, 1, 3};
  const std::int64_t group = c / 32 * 4 + c % 16 / 4;
  const std::uint8_t* tile = plane + j / 16 * 16 * d32 / 2;
  return tile[(group * 16 + j % 16) * 4 + order[static_cast<std::size_t>(c % 4)]] >>
             (c % 32 < 16 ? 0 : 4) &
         15;
}
int value_nibble(const std::uint8_t* row, std::int64_t c) {
  return row[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15;
}

/// The code formed by the first `levels` planes.
int key_code(const HeadBlock& block, int levels, std::int64_t j, std::int64_t c) {
  int code = high_plane_nibble(block.key_plane[0], block.layout->key_d32, j, c);
  for (std::size_t p = 1; p < static_cast<std::size_t>(levels); ++p)
    code = 16 * code + low_plane_nibble(block.key_plane[p] + j * block.layout->key_row(), c);
  return code;
}
int value_code(const HeadBlock& block, int levels, std::int64_t j, std::int64_t c) {
  int code = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(levels); ++p)
    code = 16 * code + value_nibble(block.value_plane[p] + j * block.layout->value_row(), c);
  return code;
}

/// ŷ of a code of `levels` planes.
double y_of(int code, int levels) {
  return (code - (std::ldexp(1.0, 4 * levels) - 1) / 2) / std::ldexp(1.0, 4 * (levels - 1));
}

double f16_at(const std::uint16_t* x, std::int64_t c) { return to_float(f16{x[c]}); }

/// Expects above ≥ norm up to the rounding of f64. If tight, it may exceed norm by at most the
/// fraction `room` plus `rounding`.
void expect_above(double above, double norm, bool tight, double room, double rounding,
                  const char* what) {
  EXPECT_GE(above, norm * (1 - 1e-12)) << what;
  if (tight) {
    EXPECT_LE(above, norm * (1 + room) + rounding) << what;
  }
}

/// Compares every number of the header with what the planes say in f64.
void expect_bounds(const Coded& coded, bool tight) {
  const HeadBlock block = coded.block();
  const BlockHead& head = block.head();
  const Layout& layout = coded.layout;
  std::array<double, most_levels> key_missing{}, value_missing{};
  double reach = 0, radius = 0, norm = 0, centre = 0, squares = 0;
  int count = 0;
  for (std::int64_t c = 0; c < layout.key_dim; ++c)
    centre += std::pow(head.key_unit * f16_at(block.key_centre(), c), 2);
  for (std::int64_t j = 0; j < coded.source.tokens; ++j) {
    if (coded.raw(j)) continue;
    ++count;
    for (int l = 0; l < coded.levels; ++l) {
      double missing = 0, y2 = 0, value = 0;
      for (std::int64_t c = 0; c < layout.key_dim; ++c) {
        const double m = head.key_unit * f16_at(block.key_centre(), c);
        const double t = head.key_unit * f16_at(block.key_step(), c);
        const double y = y_of(key_code(block, l + 1, j, c), l + 1);
        missing += std::pow((coded.k.at(j, c) - m) / t - y, 2);
        y2 += y * y;
      }
      for (std::int64_t c = 0; c < layout.value_dim; ++c) {
        const double m = head.value_unit * f16_at(block.value_centre(), c);
        const double t = head.value_unit * f16_at(block.value_step(), c);
        value +=
            std::pow(coded.v.at(j, c) - m - t * y_of(value_code(block, l + 1, j, c), l + 1), 2);
      }
      const auto at = static_cast<std::size_t>(l);
      key_missing[at] = std::max(key_missing[at], std::sqrt(missing));
      value_missing[at] = std::max(value_missing[at], std::sqrt(value));
      reach = std::max(reach, std::sqrt(y2));
    }
    double away = 0, size = 0;
    for (std::int64_t c = 0; c < layout.value_dim; ++c) {
      const double x = coded.v.at(j, c);
      away += std::pow(x - head.value_unit * f16_at(block.value_centre(), c), 2);
      size += x * x;
    }
    radius = std::max(radius, std::sqrt(away));
    norm = std::max(norm, std::sqrt(size));
    squares += away;
  }
  // Twice the allowance for rounding: u·(3.01·‖y‖ + 16·√d) steps.
  const double key_rounding = 2 * 41 * u * std::sqrt(static_cast<double>(layout.key_dim));
  double steps = 0;
  for (std::int64_t c = 0; c < layout.value_dim; ++c)
    steps += std::pow(head.value_unit * f16_at(block.value_step(), c), 2);
  const double value_rounding = 2 * 41 * u * std::sqrt(steps);
  const double floor = 0x1p-68;  // for squares that underflow
  for (std::size_t l = 0; l < most_levels; ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    if (static_cast<int>(l) >= coded.levels) {
      EXPECT_EQ(head.key_missing[l], 0.0F);
      EXPECT_EQ(head.value_missing[l], 0.0F);
      continue;
    }
    expect_above(head.key_missing[l], key_missing[l], tight, 1e-4, key_rounding, "key_missing");
    expect_above(head.value_missing[l], value_missing[l], tight, 1e-4, value_rounding + floor,
                 "value_missing");
  }
  // The reach at levels ≥ 1 is bounded by ‖y‖ plus the missing part, which is at most 1/32 in
  // every channel, and ‖y‖ exceeds ‖ŷ_1‖ by at most as much.
  expect_above(head.reach, reach, tight, 1e-4,
               1.001 / 16 * std::sqrt(static_cast<double>(layout.key_dim)), "reach");
  expect_above(head.value_radius, radius, tight, 1e-4, floor, "value_radius");
  expect_above(head.value_norm, norm, tight, 1e-4, floor, "value_norm");
  expect_above(head.centre_norm, std::sqrt(centre), tight, 1e-4, 1e-18 * head.key_unit,
               "centre_norm");
  EXPECT_NEAR(head.value_spread, std::sqrt(squares / std::max(count, 1)),
              1e-4 * head.value_spread + floor);
  EXPECT_EQ(head.tokens, coded.source.tokens);
  EXPECT_EQ(head.raw_tokens, coded.source.tokens - count);
  EXPECT_EQ(head.raw, coded.source.raw);
  EXPECT_EQ(head.levels, coded.levels);
}

/// Steps are positive, and every coded number lies within 8 steps of its centre.
void expect_reached(const Coded& coded) {
  const HeadBlock block = coded.block();
  const auto check = [&](const Stored& x, std::int64_t dim, std::int64_t d32, double unit,
                         const std::uint16_t* centre, const std::uint16_t* step) {
    for (std::int64_t c = 0; c < d32; ++c) {
      if (c >= dim) {
        ASSERT_EQ(centre[c], 0);
        ASSERT_EQ(step[c], 0);
        continue;
      }
      ASSERT_GT(f16_at(step, c), 0.0);
      for (std::int64_t j = 0; j < coded.source.tokens; ++j) {
        if (coded.raw(j)) continue;
        ASSERT_LE(std::abs(x.at(j, c) - unit * f16_at(centre, c)),
                  8 / (1 + 0x1p-21) * unit * f16_at(step, c));
      }
    }
  };
  check(coded.k, coded.layout.key_dim, coded.layout.key_d32, block.head().key_unit,
        block.key_centre(), block.key_step());
  check(coded.v, coded.layout.value_dim, coded.layout.value_d32, block.head().value_unit,
        block.value_centre(), block.value_step());
}

// ---- A plain reference ----

/// A sum over channels in the order that planes.h prescribes.
float sum_in_lanes(const std::vector<float>& terms) {
  std::array<float, 16> lane{};
  for (std::size_t c = 0; c < terms.size(); ++c) lane[c % 16] += terms[c];
  for (std::size_t i = 0; i < 8; ++i) lane[i] += lane[i + 8];
  for (const std::size_t apart : {1, 2, 4})
    for (std::size_t i = 0; i < 8; i += 2 * apart) lane[i] += lane[i + apart];
  return lane[0];
}

std::uint16_t f16_above(float x) {
  const f16 near = to_f16(x);
  return static_cast<std::uint16_t>(near.bits + (to_float(near) < x ? 1 : 0));
}

/// One side of a block in plain loops: the values if `values` is set, else the keys.
struct Reference {
  float unit = 0;
  std::vector<std::uint16_t> centre, step;
  std::vector<std::vector<int>> code;          // by token and channel, 0 where nothing is coded
  std::vector<std::vector<float>> level_sums;  // by level and coded token
  // For keys Σ p² and Σ (p − e_0)²; for values Σ (v − m)² and Σ v².
  std::vector<float> first_sums, second_sums;
  float centre_sum = 0, step_sum = 0;

  Reference(const Coded& coded, const Stored& x, std::int64_t dim, std::int64_t d32, bool values)
      : centre(static_cast<std::size_t>(d32)),
        step(static_cast<std::size_t>(d32)),
        code(page_tokens, std::vector<int>(static_cast<std::size_t>(d32))),
        level_sums(static_cast<std::size_t>(coded.levels)) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t j = 0; j < coded.source.tokens; ++j)
      if (!coded.raw(j)) tokens.push_back(j);
    const auto n = static_cast<std::size_t>(d32);
    std::vector<float> low(n), high(n), sum(n);
    float largest = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(dim); ++c) {
      for (const std::int64_t j : tokens) {
        const float y = x.at(j, static_cast<std::int64_t>(c));
        low[c] = j == tokens[0] ? y : std::min(low[c], y);
        high[c] = j == tokens[0] ? y : std::max(high[c], y);
        sum[c] += y;
      }
      largest = std::max({largest, std::abs(low[c]), std::abs(high[c])});
    }
    unit = std::ldexp(1.0F, largest > 0 ? std::clamp(std::ilogb(largest) - 14, -100, 100) : -100);
    const float steps = std::ldexp(1.0F, 4 * (coded.levels - 1));
    const float codes = 16 * steps;
    const float per_token = tokens.empty() ? 0.0F : 1.0F / static_cast<float>(tokens.size());
    std::vector<float> m(n), inverse(n), offset(n), finest(n), squares(n), step_squares(n);
    for (std::size_t c = 0; c < static_cast<std::size_t>(dim); ++c) {
      const float middle =
          values ? sum[c] * per_token * (1 / unit) : (low[c] + high[c]) * (0.5F / unit);
      centre[c] = to_f16(middle + 0.0F).bits;
      const float m16 = to_float(f16{centre[c]});
      m[c] = m16 * unit;
      const float reach = std::max(high[c] - m[c], m[c] - low[c]) * (1 / unit);
      step[c] = f16_above(std::max(reach * (0.125F * (1 + 0x1p-20F)), 0x1p-14F));
      const float t16 = to_float(f16{step[c]});
      inverse[c] = steps / (t16 * unit);
      offset[c] = codes + (codes - 1) / 2;
      finest[c] = t16 / steps;
      squares[c] = m16 * m16;
      step_squares[c] = t16 * t16;
    }
    centre_sum = sum_in_lanes(squares);
    step_sum = sum_in_lanes(step_squares);
    for (const std::int64_t j : tokens) {
      std::vector<std::vector<float>> terms(static_cast<std::size_t>(coded.levels) + 2,
                                            std::vector<float>(n));
      for (std::size_t c = 0; c < n; ++c) {
        const float number =
            static_cast<std::int64_t>(c) < dim ? x.at(j, static_cast<std::int64_t>(c)) : 0;
        const float away = number - m[c];
        const float p = away * inverse[c];
        const float t = p + offset[c];
        const int nearest = static_cast<int>(std::nearbyint(t));
        code[static_cast<std::size_t>(j)][c] = nearest % static_cast<int>(codes);
        float e = 0;
        for (std::size_t l = static_cast<std::size_t>(coded.levels); l-- > 0;) {
          const int unread = (1 << (4 * (static_cast<std::size_t>(coded.levels) - 1 - l))) - 1;
          e = t - (static_cast<float>(nearest & ~unread) + static_cast<float>(unread) / 2);
          const float weighted = values ? e * finest[c] : e;
          terms[l][c] = weighted * weighted;
        }
        terms[terms.size() - 2][c] = values ? away * away : p * p;
        terms[terms.size() - 1][c] = values ? number * number : (p - e) * (p - e);
      }
      for (std::size_t l = 0; l < level_sums.size(); ++l)
        level_sums[l].push_back(sum_in_lanes(terms[l]));
      first_sums.push_back(sum_in_lanes(terms[terms.size() - 2]));
      second_sums.push_back(sum_in_lanes(terms[terms.size() - 1]));
    }
  }
};

/// An upper bound on the root of the largest sum, given that sums are too large by `padding`.
double largest_root(const std::vector<float>& sums, std::int64_t d32, double padding = 0) {
  const double growth = 1 + (static_cast<double>(d32) / 16 + 20) * u;
  const float most = sums.empty() ? 0.0F : *std::max_element(sums.begin(), sums.end());
  return std::sqrt(std::max(0.0, most * growth - padding)) + 0x1p-69;
}

float up(double x) { return static_cast<float>(x * (1 + 0x1p-22) + 0x1p-149); }

BlockHead reference_head(const Coded& coded, const Reference& k, const Reference& v) {
  const Layout& layout = coded.layout;
  BlockHead head{};
  head.key_unit = k.unit;
  head.value_unit = v.unit;
  const double scale = std::ldexp(1.0, -4 * (coded.levels - 1));
  const double root_d = std::sqrt(static_cast<double>(layout.key_dim));
  const auto extra = [&](std::size_t level) {
    const double half = (std::ldexp(1.0, 4 * (coded.levels - 1 - static_cast<int>(level))) - 1) / 2;
    return static_cast<double>(layout.key_d32 - layout.key_dim) * (half * half);
  };
  const double y = largest_root(k.first_sums, layout.key_d32) * scale;
  const double radius = largest_root(v.first_sums, layout.value_d32);
  const double steps = largest_root({v.step_sum}, layout.value_d32);
  const double unit = v.unit;
  float later = 0;
  for (std::size_t l = 0; l < k.level_sums.size(); ++l) {
    head.key_missing[l] = up(largest_root(k.level_sums[l], layout.key_d32, extra(l)) * scale +
                             u * (3.01 * y + 16 * root_d));
    head.value_missing[l] = up((largest_root(v.level_sums[l], layout.value_d32) +
                                u * (3.01 * radius / unit + 16 * steps)) *
                               unit);
    if (l > 0) later = std::max(later, head.key_missing[l]);
  }
  head.reach =
      up(std::max(largest_root(k.second_sums, layout.key_d32, extra(0)) * scale + 17 * u * root_d,
                  y + double(later)));
  head.centre_norm = up(largest_root({k.centre_sum}, layout.key_d32) * k.unit);
  head.value_radius = up(radius);
  head.value_norm = up(largest_root(v.second_sums, layout.value_d32));
  double squares = 0;
  for (const float s : v.first_sums) squares += s;
  const double count = std::max(1.0, static_cast<double>(v.first_sums.size()));
  head.value_spread = static_cast<float>(std::sqrt(squares / count));
  head.raw = coded.source.raw;
  head.tokens = static_cast<std::uint8_t>(coded.source.tokens);
  head.raw_tokens = static_cast<std::uint8_t>(static_cast<std::size_t>(coded.source.tokens) -
                                              v.first_sums.size());
  head.levels = static_cast<std::uint8_t>(coded.levels);
  return head;
}

/// Compares a stored block with the reference, byte by byte.
void expect_reference(const Coded& coded) {
  const HeadBlock block = coded.block();
  const Layout& layout = coded.layout;
  const Reference k(coded, coded.k, layout.key_dim, layout.key_d32, false);
  const Reference v(coded, coded.v, layout.value_dim, layout.value_d32, true);
  const BlockHead head = reference_head(coded, k, v);
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof head>>(head);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), block.record));
  const auto same = [](const std::uint16_t* stored, const std::vector<std::uint16_t>& expected) {
    return std::equal(expected.begin(), expected.end(), stored);
  };
  EXPECT_TRUE(same(block.key_centre(), k.centre));
  EXPECT_TRUE(same(block.key_step(), k.step));
  EXPECT_TRUE(same(block.value_centre(), v.centre));
  EXPECT_TRUE(same(block.value_step(), v.step));
  for (std::size_t at = layout.value_step + static_cast<std::size_t>(2 * layout.value_d32);
       at < layout.key_plane0; ++at)
    ASSERT_EQ(block.record[at], std::byte{0});
  // Every nibble of the planes belongs to some token and channel, so this compares all
  // of their bytes.
  for (std::int64_t j = 0; j < page_tokens; ++j) {
    for (std::int64_t c = 0; c < layout.key_d32; ++c)
      ASSERT_EQ(key_code(block, coded.levels, j, c),
                k.code[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)])
          << "key " << j << ", channel " << c;
    for (std::int64_t c = 0; c < layout.value_d32; ++c)
      ASSERT_EQ(value_code(block, coded.levels, j, c),
                v.code[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)])
          << "value " << j << ", channel " << c;
  }
}

void for_each_case(const std::function<void(const Case&, DType)>& check) {
  for (const Case& c : cases())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) check(c, dtype);
  for (const Case& c : wide_cases()) check(c, DType::f32);
}

std::string label(const Case& c, DType dtype) {
  return c.name + ", " + std::string(name_of(dtype));
}

TEST(CacheEncode, StoredBoundsHoldForEveryTokenAndAreNearTheLargest) {
  for_each_case([](const Case& c, DType dtype) {
    for (const int levels : {2, 3, 4})
      for (const auto& [key_dim, value_dim] :
           {std::pair{64, 128}, std::pair{40, 1}, std::pair{200, 80}}) {
        SCOPED_TRACE(label(c, dtype) + ", levels " + std::to_string(levels) + ", d " +
                     std::to_string(key_dim));
        Coded coded(c, dtype, key_dim, value_dim, levels);
        coded.encode(kernels::kernels());
        expect_bounds(coded, c.tight);
        expect_reached(coded);
      }
  });
}

TEST(CacheEncode, EveryTargetMakesTheBytesOfThePlainReference) {
  for_each_case([](const Case& c, DType dtype) {
    for (const int levels : {2, 3, 4})
      for (const auto& [key_dim, value_dim] :
           {std::pair{128, 128}, std::pair{1, 40}, std::pair{80, 96}, std::pair{200, 1024}}) {
        SCOPED_TRACE(label(c, dtype) + ", levels " + std::to_string(levels) + ", d " +
                     std::to_string(key_dim));
        Coded coded(c, dtype, key_dim, value_dim, levels);
        coded.encode(kernels::scalar_kernels);
        expect_reference(coded);
        const auto plain = coded.page;
        test::for_each_target([&](const char* name) {
          coded.encode(kernels::kernels());
          EXPECT_EQ(coded.page, plain) << name;
        });
      }
  });
}

/// The kernels of kernels/sieve.h read these planes as sums of codes, in integers or floats.
TEST(CacheEncode, PlanesHaveTheOrdersThatTheKernelsOfDotsAndSumsRead) {
  const Case normal = cases().front();
  for (const std::int64_t d : {40, 128, 320}) {
    Coded coded(normal, DType::bf16, d, d, 3);
    coded.encode(kernels::kernels());
    const HeadBlock block = coded.block();
    const std::int64_t d32 = coded.layout.key_d32;
    const auto n = static_cast<std::size_t>(d32);
    constexpr int rows = 3;
    std::mt19937 random(9);
    std::vector<std::int16_t> xi(rows * n);
    for (std::int16_t& x : xi)
      x = static_cast<std::int16_t>(static_cast<int>(random() % 65279) - 32639);
    std::vector<std::uint8_t> key{3, 17, 18, 64, 127};
    const auto expected = [&](std::int64_t r, std::int64_t j, const auto& code) {
      double sum = 0;
      for (std::int64_t c = 0; c < d32; ++c)
        sum += double(xi[static_cast<std::size_t>(r * d32 + c)]) * code(j, c);
      return sum;
    };
    const auto nibble = [&](int plane) {
      return [&block, plane](std::int64_t j, std::int64_t c) {
        return plane == 0 ? key_code(block, 1, j, c) : key_code(block, plane + 1, j, c) % 16;
      };
    };
    const auto byte = [&](std::int64_t j, std::int64_t c) { return key_code(block, 2, j, c); };
    test::for_each_target([&](const char* name) {
      SCOPED_TRACE(std::string(name) + ", d " + std::to_string(d));
      std::vector<float> dot(rows * 128);
      kernels::kernels().sieve.dots_of_plane(block.key_plane[0], d32, xi.data(), rows, dot.data(),
                                             block.key_plane[0]);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < 128; ++j) {
          const double exact = expected(r, j, nibble(0));
          ASSERT_NEAR(dot[static_cast<std::size_t>(r * 128 + j)], exact,
                      4 * u * 15.0 * 32639 * double(d));
        }
      kernels::kernels().sieve.dots_of_planes(block.key_plane[0], block.key_plane[1], d32,
                                              xi.data(), rows, dot.data(), block.key_plane[0],
                                              block.key_plane[1]);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < 128; ++j) {
          const double exact = expected(r, j, byte);
          ASSERT_NEAR(dot[static_cast<std::size_t>(r * 128 + j)], exact,
                      4 * u * 255.0 * 32639 * double(d));
        }
      std::vector<std::int32_t> listed(rows * 128);
      for (const int plane : {1, 2}) {
        kernels::kernels().sieve.dot_listed({block.key_plane[static_cast<std::size_t>(plane)],
                                             key.data(), static_cast<int>(key.size())},
                                            coded.layout.key_row(), d32, xi.data(), rows,
                                            listed.data());
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::size_t i = 0; i < key.size(); ++i)
            ASSERT_EQ(listed[static_cast<std::size_t>(r) * 128 + i],
                      expected(r, key[i], nibble(plane)));
      }
      for (std::size_t plane = 0; plane < 3; ++plane) {
        // With steps of 1 and no centres the results are sums of nibbles.
        const std::vector<float> p(16, 1.0F);
        const std::vector<std::uint16_t> ones(n, 0x3C00), zeros(n, 0);
        const float nothing = 0.0F;
        std::vector<float> o(n, 0.0F);
        const kernels::ListedNibbles nibbles{
            1,          {block.value_plane[plane]},     {key.data()},
            {p.data()}, {static_cast<int>(key.size())}, 16};
        kernels::kernels().sieve.add_values(nibbles, coded.layout.value_row(), zeros.data(),
                                            ones.data(), 1.0F, d32, 1, &nothing, &nothing, o.data(),
                                            d32);
        for (std::int64_t c = 0; c < d32; ++c) {
          int sum = 0;
          for (const std::uint8_t j : key)
            sum += value_code(block, static_cast<int>(plane) + 1, j, c) % 16;
          ASSERT_EQ(o[static_cast<std::size_t>(c)], static_cast<float>(sum));
        }
      }
    });
  }
}

TEST(CacheEncode, AnyNumberOfTokensIsCodedAndTheRestIsZero) {
  for (std::int32_t tokens = 1; tokens <= 128; ++tokens) {
    SCOPED_TRACE(tokens);
    Case c{"", [](auto, auto, double x) { return x; }, tokens};
    if (tokens % 3 == 0) c.raw = {tokens / 2, tokens - 1};
    Coded coded(c, DType::f16, 40, 32, 2 + tokens % 3);
    coded.encode(kernels::kernels());
    expect_reference(coded);
    expect_bounds(coded, true);
  }
}

struct Decoded {
  std::vector<float> k, v;
  bool operator==(const Decoded&) const = default;
};

/// Decodes the first `levels` planes. Rows of values have gaps of five floats, which must stay 77.
Decoded decode(const kernels::Kernels& by, const HeadBlock& block, int levels, std::int64_t first,
               std::int64_t count) {
  const std::int64_t key_dim = block.layout->key_dim;
  const std::int64_t value_stride = block.layout->value_dim + 5;
  Decoded out{std::vector<float>(static_cast<std::size_t>(count * key_dim) + 1, 77.0F),
              std::vector<float>(static_cast<std::size_t>(count * value_stride) + 1, 77.0F)};
  decode_head(by, block, levels, first, count, out.k.data(), key_dim, out.v.data(), value_stride);
  return out;
}

void expect_decoded(const HeadBlock& block, const Decoded& decoded, int levels, std::int64_t first,
                    std::int64_t count) {
  const Layout& layout = *block.layout;
  const auto near = [](float x, double m, double part) {
    const double exact = m + part;
    ASSERT_NEAR(x, exact, u * (std::abs(part) + std::abs(exact)) * (1 + 2 * u) + 0x1p-149);
  };
  const double key_unit = block.head().key_unit;
  const double value_unit = block.head().value_unit;
  const std::int64_t value_stride = layout.value_dim + 5;
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t c = 0; c < layout.key_dim; ++c)
      near(decoded.k[static_cast<std::size_t>(j * layout.key_dim + c)],
           key_unit * f16_at(block.key_centre(), c),
           key_unit * f16_at(block.key_step(), c) *
               y_of(key_code(block, levels, first + j, c), levels));
    for (std::int64_t c = 0; c < layout.value_dim; ++c)
      near(decoded.v[static_cast<std::size_t>(j * value_stride + c)],
           value_unit * f16_at(block.value_centre(), c),
           value_unit * f16_at(block.value_step(), c) *
               y_of(value_code(block, levels, first + j, c), levels));
    for (std::int64_t c = layout.value_dim; c < value_stride; ++c)
      ASSERT_EQ(decoded.v[static_cast<std::size_t>(j * value_stride + c)], 77.0F);
  }
  ASSERT_EQ(decoded.k.back(), 77.0F);
}

TEST(CacheEncode, DecodingIsWithinTwoRoundingsOfWhatThePlanesStandForAndTheSameOnEveryTarget) {
  for_each_case([](const Case& c, DType dtype) {
    for (const auto& [key_dim, value_dim] :
         {std::pair{128, 128}, std::pair{1, 40}, std::pair{80, 200}}) {
      SCOPED_TRACE(label(c, dtype) + ", d " + std::to_string(key_dim));
      Coded coded(c, dtype, key_dim, value_dim, 4);
      coded.encode(kernels::kernels());
      const HeadBlock block = coded.block();
      for (const int levels : {1, 2, 3, 4})
        for (const auto& span : {std::array{0, 128}, std::array{5, 1}, std::array{30, 70}}) {
          const Decoded plain = decode(kernels::scalar_kernels, block, levels, span[0], span[1]);
          expect_decoded(block, plain, levels, span[0], span[1]);
          test::for_each_target([&](const char* name) {
            EXPECT_EQ(decode(kernels::kernels(), block, levels, span[0], span[1]), plain) << name;
          });
        }
    }
  });
}

TEST(CacheEncode, EitherSideIsDecodedAlone) {
  Coded coded(cases().front(), DType::bf16, 64, 96, 3);
  coded.encode(kernels::kernels());
  const HeadBlock block = coded.block();
  const Decoded both = decode(kernels::kernels(), block, 3, 7, 20);
  std::vector<float> k(20 * 64), v(20 * 101);
  decode_head(kernels::kernels(), block, 3, 7, 20, k.data(), 64, nullptr, 0);
  decode_head(kernels::kernels(), block, 3, 7, 20, nullptr, 0, v.data(), 101);
  EXPECT_TRUE(std::equal(k.begin(), k.end(), both.k.begin()));
  for (std::size_t j = 0; j < 20; ++j)
    EXPECT_TRUE(std::equal(v.begin() + static_cast<std::ptrdiff_t>(j * 101),
                           v.begin() + static_cast<std::ptrdiff_t>(j * 101 + 96),
                           both.v.begin() + static_cast<std::ptrdiff_t>(j * 101)));
}

}  // namespace
}  // namespace tamis::cache
