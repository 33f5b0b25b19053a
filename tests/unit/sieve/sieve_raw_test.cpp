// Raw tokens at any place: their partial result is within its stated bound of exact
// attention over them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "sieve/error_model.h"
#include "sieve/raw.h"
#include "support/allocations.h"
#include "support/cache/cache_oracle.h"
#include "support/certificates/kinds.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

constexpr std::int64_t kv_heads = 2;

/// Positions of the raw tokens of a sequence, one list for each run.
struct Places {
  std::int64_t tokens;  ///< number of tokens of the sequence
  std::vector<std::vector<std::int64_t>> runs;
};

/// Four sinks, some tokens inside two blocks, and a tail.
Places usual(std::int64_t tail) {
  Places places{904 + tail, {{0, 1, 2, 3}, {140, 141, 200, 267}, {777}, {}}};
  for (std::int64_t t = 0; t < tail; ++t) places.runs.back().push_back(904 + t);
  return places;
}

/// A sequence of which only the raw tokens exist, and queries of one of its KV heads.
struct RawSequence {
  RawSequence(const Places& where, const Heads& of_heads, DType of_dtype, Kind kind, int rows,
              std::uint64_t seed)
      : heads(of_heads), dtype(of_dtype), layout(kv_heads, of_heads.key_dim, of_heads.value_dim) {
    for (const auto& run : where.runs)
      for (const std::int64_t t : run) positions.push_back(t);
    const auto count = std::ssize(positions);
    std::mt19937_64 random(seed);
    // Kinds are drawn for one KV head, so the other head gets numbers of its own.
    Shape shape{rows, 1, 1, heads.key_dim, heads.value_dim, dtype, heads.scale};
    const Numbers other = draw(kind, shape, count, random);
    const Numbers numbers = draw(kind, shape, count, random);
    heads.scale = shape.scale;
    query = numbers.q;
    appended = {heads.key_dim, heads.value_dim, numbers.k, numbers.v};
    std::int64_t at = 0;
    for (const auto& run : where.runs) {
      if (run.empty()) continue;
      const auto n = std::ssize(run);
      const std::int64_t room = n + 3;
      std::vector<float> k(static_cast<std::size_t>(kv_heads * room * heads.key_dim), 7.0F);
      std::vector<float> v(static_cast<std::size_t>(kv_heads * room * heads.value_dim), 7.0F);
      for (std::int64_t h = 0; h < kv_heads; ++h) {
        const Numbers& from = h == 1 ? numbers : other;
        std::copy_n(from.k.begin() + at * heads.key_dim, n * heads.key_dim,
                    k.begin() + h * room * heads.key_dim);
        std::copy_n(from.v.begin() + at * heads.value_dim, n * heads.value_dim,
                    v.begin() + h * room * heads.value_dim);
      }
      at += n;
      memory.push_back(bytes_of(dtype, k));
      memory.push_back(bytes_of(dtype, v));
      const bool contiguous = run.back() - run.front() + 1 == n;
      // Places count from the beginning of a block; contiguous tokens count from the
      // first of them.
      const std::int64_t first = contiguous ? run.front() : run.front() - 5;
      std::vector<std::uint8_t> place;
      for (const std::int64_t t : run)
        if (!contiguous) place.push_back(static_cast<std::uint8_t>(t - first));
      placed.push_back(place);
      runs.push_back({first, static_cast<std::int32_t>(n), static_cast<std::int32_t>(room), nullptr,
                      memory[memory.size() - 2].data(), memory.back().data()});
      if (!contiguous) runs.back().place = placed.back().data();
    }
    view = {where.tokens, {}, runs};
    scaled.resize(static_cast<std::size_t>(rows * layout.key_d32));
    const auto factor = static_cast<float>(static_cast<double>(heads.scale) * 1.4426950408889634);
    for (std::int64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (std::int64_t c = 0; c < heads.key_dim; ++c) {
        const float x = query[static_cast<std::size_t>(r * heads.key_dim + c)] * factor;
        scaled[static_cast<std::size_t>(r * layout.key_d32 + c)] = x;
        squares += static_cast<double>(x) * x;
      }
      norm[static_cast<std::size_t>(r)] = std::sqrt(squares) * (1 + 0x1p-40);
    }
  }

  /// A problem on the second KV head, with rows that see these numbers of tokens.
  [[nodiscard]] sieve::Problem problem(std::span<const std::int64_t> seen) const {
    sieve::Problem problem{kernels::kernels(),
                           heads,
                           layout,
                           view,
                           options,
                           dtype,
                           1,
                           static_cast<int>(seen.size()),
                           {},
                           0,
                           0,
                           scaled.data(),
                           norm};
    for (std::size_t r = 0; r < seen.size(); ++r) {
      problem.row[r] = {seen[r], nullptr};
      problem.seen = std::max(problem.seen, seen[r]);
    }
    return problem;
  }
  /// Number of raw tokens before a position.
  [[nodiscard]] std::int64_t before(std::int64_t position) const {
    return std::ranges::count_if(positions, [&](std::int64_t t) { return t < position; });
  }

  Heads heads;
  DType dtype;
  cache::Layout layout;
  std::vector<std::int64_t> positions;
  std::vector<float> query;
  Appended appended;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<std::uint8_t>> placed;
  std::vector<cache::RawRun> runs;
  cache::SequenceView view;
  std::vector<float> scaled;
  std::array<double, sieve::most_rows> norm{};
  AttendOptions options;
};

struct Answer {
  sieve::RawResult result;
  std::vector<float> out;
};

Answer attend(const RawSequence& sequence, std::span<const std::int64_t> seen) {
  const sieve::Problem problem = sequence.problem(seen);
  std::vector<float> scratch(static_cast<std::size_t>(sieve::raw_scratch(problem)));
  Answer answer{
      {}, std::vector<float>(seen.size() * static_cast<std::size_t>(sequence.layout.value_d32))};
  answer.result = sieve::attend_raw(problem, scratch.data(), answer.out.data());
  return answer;
}

/// The certificate of a row of raw tokens alone, from the two bounds of docs/certificates.md.
tamis::Certificate certify(const RawSequence& sequence, const sieve::Partial& row,
                           double value_norm, double roundings, std::int64_t tokens,
                           std::span<const float> out) {
  double squares = 0;
  for (const float x : out) squares += static_cast<double>(x) * x;
  const double out_norm = std::sqrt(squares);
  const double delta = row.spread + row.vanished;
  const double least = row.used - delta;
  tamis::Certificate c;
  c.tau = std::min(1.0, delta / row.used);
  c.lse_error = c.error = std::numeric_limits<double>::infinity();
  if (least > 0) {
    const double n = static_cast<double>(tokens);
    const double sums = sieve::gamma(roundings + 2) * row.used * value_norm +
                        n * 0x1p-148 * std::sqrt(static_cast<double>(sequence.heads.value_dim));
    c.error =
        (row.product + row.spread * out_norm + row.vanished * (value_norm + out_norm) + sums) /
        least;
    c.lse_error = -std::log1p(-delta / row.used) + 0x1p-40 * (1 + std::abs(row.reference));
  }
  return c;
}

void expect_exact(const RawSequence& sequence, std::span<const std::int64_t> seen) {
  std::vector<std::int64_t> visible;
  for (const std::int64_t s : seen) visible.push_back(sequence.before(s));
  const auto rows = std::ssize(seen);
  const Oracle oracle =
      exact_attention(sequence.appended, sequence.heads.scale,
                      {sequence.query.data(), rows, sequence.heads.key_dim}, visible);
  const Answer answer = attend(sequence, seen);
  EXPECT_EQ(answer.result.keys, *std::ranges::max_element(visible));
  for (std::int64_t r = 0; r < rows; ++r) {
    SCOPED_TRACE(::testing::Message() << "row " << r);
    const auto i = static_cast<std::size_t>(r);
    const float* sums = answer.out.data() + r * sequence.layout.value_d32;
    for (std::int64_t c = sequence.heads.value_dim; c < sequence.layout.value_d32; ++c)
      EXPECT_EQ(sums[c], 0.0F);
    const sieve::Partial& row = answer.result.row[i];
    EXPECT_TRUE(answer.result.finite[i]);
    EXPECT_EQ(row.reference, std::round(row.reference));
    if (visible[i] == 0) {
      EXPECT_EQ(row.used, 0);
      EXPECT_EQ(row.reference, 0);
      EXPECT_EQ(row.spread + row.product + row.vanished, 0);
      continue;
    }
    EXPECT_GE(row.used, 0.7);  // the reference is at most half an octave above the largest logit
    EXPECT_LE(row.used, 1.5 * static_cast<double>(visible[i]));
    std::vector<float> out(static_cast<std::size_t>(sequence.heads.value_dim));
    for (std::size_t c = 0; c < out.size(); ++c)
      out[c] = static_cast<float>(static_cast<double>(sums[c]) / row.used);
    const double lse = row.reference * 0.6931471805599453 + std::log(row.used);
    tamis::Certificate claim =
        certify(sequence, row, answer.result.value_norm, answer.result.roundings, visible[i], out);
    claim.error += 0x1p-23 * answer.result.value_norm;  // rounding of division and result
    claim.lse_error += 0x1p-24 * std::abs(lse);         // rounding of the log-sum-exp to a float
    EXPECT_EQ(false_claim(oracle[r], out, static_cast<float>(lse), claim), "");
  }
}

TEST(SieveRaw, AddsUpToExactAttentionForEveryKindOfNumbersAndEveryTarget) {
  for (const Kind kind : all_kinds())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const RawSequence sequence(usual(137), {6, kv_heads, 40, 72, 0.2F}, dtype, kind, 3, 1);
      for_each_target([&](const char* target) {
        SCOPED_TRACE(::testing::Message()
                     << name_of(kind) << ' ' << tamis::name_of(dtype) << ' ' << target);
        expect_exact(sequence, std::vector<std::int64_t>{1041, 905, 1000});
      });
    }
}

TEST(SieveRaw, ServesEveryHeadSizeAndNumberOfRows) {
  for (const std::int64_t d : {1, 40, 64, 80, 128, 200})
    for (const int rows : {1, 2, 3, 4, 7, 16}) {
      const DType dtype = rows % 3 == 0 ? DType::f16 : DType::bf16;
      const RawSequence sequence(usual(300), {rows * kv_heads, kv_heads, d, d + 1, 0.1F}, dtype,
                                 Kind::peaked, rows, 2);
      std::vector<std::int64_t> seen;
      for (int r = 0; r < rows; ++r) seen.push_back(1204 - r);
      for_each_target([&](const char* target) {
        SCOPED_TRACE(::testing::Message() << d << " channels, " << rows << " rows, " << target);
        expect_exact(sequence, seen);
      });
    }
}

TEST(SieveRaw, RowsSeeWhatStandsBeforeTheirPosition) {
  const RawSequence sequence(usual(20), {2, kv_heads, 64, 64, 0.1F}, DType::bf16, Kind::normal, 9,
                             3);
  for_each_target([&](const char*) {
    expect_exact(sequence, std::vector<std::int64_t>{0, 1, 4, 141, 201, 268, 778, 904, 924});
    expect_exact(sequence, std::vector<std::int64_t>{0, 0});
  });
}

TEST(SieveRaw, LogitsThatAreNotFiniteSpoilTheirRowAlone) {
  RawSequence sequence(usual(20), {2, kv_heads, 64, 64, 0.1F}, DType::f32, Kind::normal, 3, 4);
  const std::vector<std::int64_t> seen{924, 924, 924};
  for_each_target([&](const char*) {
    const Answer before = attend(sequence, seen);
    const std::vector<float> query = sequence.scaled;
    sequence.scaled[64] = std::numeric_limits<float>::quiet_NaN();
    const Answer after = attend(sequence, seen);
    sequence.scaled = query;
    EXPECT_TRUE(after.result.finite[0] && !after.result.finite[1] && after.result.finite[2]);
    EXPECT_EQ(after.result.row[1].used, 0);
    for (std::size_t c = 0; c < 64; ++c) {
      EXPECT_EQ(after.out[c], before.out[c]);
      EXPECT_EQ(after.out[64 + c], 0.0F);
      EXPECT_EQ(after.out[128 + c], before.out[128 + c]);
    }
  });
}

TEST(SieveRaw, TokensThatARowDoesNotSeeDoNotChangeIt) {
  RawSequence sequence(usual(20), {2, kv_heads, 64, 64, 0.1F}, DType::f32, Kind::normal, 2, 5);
  const std::vector<std::int64_t> seen{910, 924};
  for_each_target([&](const char*) {
    const Answer before = attend(sequence, seen);
    const std::vector<std::byte> keys = sequence.memory[6];
    auto* rows = reinterpret_cast<float*>(sequence.memory[6].data()) + 23 * 64;
    std::fill(rows + 6 * 64, rows + 20 * 64, 3e4F);
    const Answer after = attend(sequence, seen);
    sequence.memory[6] = keys;
    for (std::size_t r = 0; r < 2; ++r)
      EXPECT_EQ(before.result.row[r].used == after.result.row[r].used, r == 0);
    for (std::size_t c = 0; c < 64; ++c) EXPECT_EQ(after.out[c], before.out[c]);
  });
}

TEST(SieveRaw, TheLargestValueIsNotUnderstated) {
  for (const Kind kind : {Kind::normal, Kind::denormals, Kind::large_keys, Kind::value_channel})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const RawSequence sequence(usual(30), {2, kv_heads, 33, 47, 0.1F}, dtype, kind, 1, 6);
      double most = 0;
      for (std::int64_t t = 0; t < sequence.appended.tokens(); ++t) {
        double squares = 0;
        for (std::int64_t c = 0; c < 47; ++c) {
          const double x = sequence.appended.values[static_cast<std::size_t>(t * 47 + c)];
          squares += x * x;
        }
        most = std::max(most, std::sqrt(squares));
      }
      for_each_target([&](const char*) {
        const double said = attend(sequence, std::vector<std::int64_t>{934}).result.value_norm;
        EXPECT_GE(said, most);
        EXPECT_LE(said, most * 1.00002 + 0x1p-68);
      });
    }
}

TEST(SieveRaw, AllocatesNothing) {
  const RawSequence sequence(usual(300), {4, kv_heads, 64, 64, 0.1F}, DType::bf16, Kind::normal, 4,
                             7);
  const std::vector<std::int64_t> seen(4, 1204);
  const sieve::Problem problem = sequence.problem(seen);
  std::vector<float> scratch(static_cast<std::size_t>(sieve::raw_scratch(problem)));
  std::vector<float> out(4 * 64);
  const std::int64_t before = allocations();
  sieve::attend_raw(problem, scratch.data(), out.data());
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace tamis::test
