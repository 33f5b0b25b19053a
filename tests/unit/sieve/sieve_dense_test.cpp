// Attention over everything that is stored: the result is within its certificate of exact
// attention over the appended numbers, and equals `dense` bit for bit where nothing was coded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tamis/attention.h>

#include "cache/encode.h"
#include "sieve/certify.h"
#include "sieve/dense/dense.h"
#include "support/allocations.h"
#include "support/cache/stored_sequence.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

struct Answer {
  std::vector<float> out, lse;
  std::vector<tamis::Certificate> certificates;
};

sieve::DenseItem item_of(const StoredSequence& sequence, std::span<const std::int64_t> seen) {
  return {kernels::kernels(),
          sequence.heads,
          sequence.layout,
          sequence.view,
          sequence.dtype,
          StoredSequence::head,
          {sequence.query.data(), std::ssize(seen), sequence.heads.key_dim},
          seen,
          Dense::short_sequence};
}

Answer attend(const sieve::DenseItem& item, bool certified = true) {
  const auto rows = item.seen.size();
  const std::int64_t d_v = item.heads.value_dim;
  Answer answer{std::vector<float>(rows * static_cast<std::size_t>(d_v)), std::vector<float>(rows),
                std::vector<tamis::Certificate>(certified ? rows : 0)};
  std::vector<float> scratch(static_cast<std::size_t>(sieve::dense_scratch(item)) + 16);
  float* aligned = scratch.data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) ++aligned;
  sieve::attend_dense(item, aligned, {answer.out.data(), std::ssize(item.seen), d_v}, answer.lse,
                      answer.certificates);
  return answer;
}

/// A sequence of 843 tokens with four sinks, tokens that are raw for other reasons, short blocks,
/// shed planes, and raw tokens between blocks and at the end.
std::vector<Piece> usual(int levels) {
  return {{128, levels, 0, 0, {0, 1, 2, 3}},
          {128, levels, levels > 2 ? levels - 1 : 0, 0, {}},
          {128, levels, 0, 45, {7, 44, 100}},
          {60, 0, 0, 0, {}},
          {128, levels, 2, 0, {}},
          {77, levels, 0, 0, {}},
          {128, levels, 0, 1, {}},
          {128, levels, 0, 0, {31, 32, 127}},
          {148, 0, 0, 0, {}}};
}
constexpr std::int64_t usual_tokens = 128 + 128 + 45 + 60 + 128 + 77 + 1 + 128 + 148;

std::vector<std::int64_t> some_seen(int rows) {
  const std::int64_t ends[] = {usual_tokens, 500, 301, 4, 1, 0, 128, 129, usual_tokens - 1, 361};
  std::vector<std::int64_t> seen;
  for (int r = 0; r < rows; ++r) seen.push_back(ends[r % 10]);
  return seen;
}

void expect_certified(const StoredSequence& sequence, std::span<const std::int64_t> seen) {
  const auto rows = std::ssize(seen);
  const Oracle oracle =
      exact_attention(sequence.appended, sequence.heads.scale,
                      {sequence.query.data(), rows, sequence.heads.key_dim}, seen);
  const Answer answer = attend(item_of(sequence, seen));
  const auto d_v = static_cast<std::size_t>(sequence.heads.value_dim);
  const Reads reads = sequence.reads(*std::ranges::max_element(seen));
  const std::int64_t bytes = sequence.bytes(*std::ranges::max_element(seen));
  for (std::int64_t r = 0; r < rows; ++r) {
    SCOPED_TRACE(::testing::Message() << "row " << r);
    const auto i = static_cast<std::size_t>(r);
    const tamis::Certificate& c = answer.certificates[i];
    EXPECT_EQ(false_claim(oracle[r], std::span(answer.out).subspan(i * d_v, d_v), answer.lse[i], c),
              "");
    EXPECT_EQ(c.reached, tamis::Reached::met);
    EXPECT_EQ(c.dense, Dense::short_sequence);
    if (seen[i] == 0) {
      EXPECT_EQ(c.bytes, 0);
      continue;
    }
    EXPECT_EQ(c.raw_keys, reads.raw_keys);
    EXPECT_EQ(c.raw_values, reads.raw_values);
    EXPECT_TRUE(std::ranges::equal(c.keys, reads.keys));
    EXPECT_TRUE(std::ranges::equal(c.values, reads.values));
    EXPECT_EQ(c.bytes, bytes);
    EXPECT_EQ(c.dense_bytes, *std::ranges::max_element(seen) *
                                 (sequence.heads.key_dim + sequence.heads.value_dim) * 2);
  }
}

TEST(SieveDense, IsWithinItsCertificateForEveryKindOfNumbersAndEveryTarget) {
  for (const Kind kind : all_kinds())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for_each_target([&](const char* target) {
        SCOPED_TRACE(::testing::Message()
                     << name_of(kind) << ' ' << tamis::name_of(dtype) << ' ' << target);
        const StoredSequence sequence({18, 2, 40, 72, 0.2F}, dtype, kind, 9, usual(3), 1);
        expect_certified(sequence, some_seen(3));
        expect_certified(sequence, some_seen(9));
      });
}

TEST(SieveDense, IsWithinItsCertificateForEveryHeadSizeAndNumberOfLevels) {
  for (const std::int64_t d : {1, 40, 64, 80, 128, 200})
    for (const int levels : {2, 3, 4})
      for (const int rows : {1, 4, 8, 150})
        for_each_target([&](const char* target) {
          SCOPED_TRACE(::testing::Message()
                       << d << ", " << levels << ", " << rows << ", " << target);
          const StoredSequence sequence(
              {2 * rows, 2, d, d + 1, 1 / std::sqrt(static_cast<float>(d))}, DType::bf16,
              Kind::peaked, rows, usual(levels), 2);
          expect_certified(sequence, some_seen(rows));
        });
}

/// The sequence as decoded from the planes that it uses, in place of the appended numbers.
Appended decoded(const StoredSequence& sequence) {
  Appended result = sequence.appended;
  for (const cache::CodedBlock& coded : sequence.view.blocks) {
    const cache::HeadBlock block =
        cache::head_block(sequence.layout, coded.page.data(), coded.levels, StoredSequence::head);
    std::vector<float> keys(static_cast<std::size_t>(128 * result.key_dim));
    std::vector<float> values(static_cast<std::size_t>(128 * result.value_dim));
    cache::decode_head(kernels::kernels(), block, coded.levels, 0, 128, keys.data(), result.key_dim,
                       values.data(), result.value_dim);
    for (std::int64_t j = 0; j < coded.tokens; ++j) {
      if ((block.head().raw[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) != 0) continue;
      const std::int64_t t = coded.first + j;
      std::copy_n(keys.begin() + j * result.key_dim, result.key_dim,
                  result.keys.begin() + t * result.key_dim);
      std::copy_n(values.begin() + j * result.value_dim, result.value_dim,
                  result.values.begin() + t * result.value_dim);
    }
  }
  return result;
}

TEST(SieveDense, TauBoundsWhatStoredBitsDoToTheWeights) {
  double nearest = 0;  // true value divided by certified value
  for (const Kind kind : all_kinds())
    for (const int levels : {2, 3})
      for (const int rows : {4, 9})
        for_each_target([&](const char* target) {
          SCOPED_TRACE(::testing::Message() << name_of(kind) << ' ' << levels << ' ' << target);
          const StoredSequence sequence({2 * rows, 2, 40, 24, 0.2F}, DType::f32, kind, rows,
                                        usual(levels), 9);
          const std::vector<std::int64_t> seen = some_seen(rows);
          const View<const float> query(sequence.query.data(), rows, 40);
          const Oracle exact =
              exact_attention(sequence.appended, sequence.heads.scale, query, seen);
          const Oracle used = exact_attention(decoded(sequence), sequence.heads.scale, query, seen);
          const Answer answer = attend(item_of(sequence, seen));
          for (std::int64_t r = 0; r < rows; ++r) {
            if (seen[static_cast<std::size_t>(r)] == 0) continue;
            const std::vector<float> weights(used[r].weights.begin(), used[r].weights.end());
            const double tau = answer.certificates[static_cast<std::size_t>(r)].tau;
            EXPECT_EQ(false_tau(exact[r], weights, tau), "");
            nearest = std::max(nearest, total_variation(weights, exact[r]) / tau);
          }
        });
  EXPECT_GT(nearest, 0.2);  // some numbers come near to the certificate's worst case
}

TEST(SieveDense, RawSequencesHaveTheBitsOfDense) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const int rows : {1, 5, 8, 9, 140})
      for_each_target([&](const char* target) {
        SCOPED_TRACE(::testing::Message()
                     << tamis::name_of(dtype) << ", " << rows << ", " << target);
        const StoredSequence sequence({2 * rows, 2, 80, 72, 0.1F}, dtype, Kind::normal, rows,
                                      {{1300}}, 3);
        // The same tokens in runs that do not align with pages.
        const StoredSequence cut({2 * rows, 2, 80, 72, 0.1F}, dtype, Kind::normal, rows,
                                 {{100}, {30}, {600}, {1}, {569}}, 3);
        std::vector<std::int64_t> seen;
        for (int r = 0; r < rows; ++r) seen.push_back(r == 3 ? 0 : 1300 - 9 * r);
        const Shape shape{1, 1, rows, 80, 72, dtype, 0.1F};
        const PageTables tables(dtype, sequence.keys.data(), sequence.values.data(), 1, 1300, 80,
                                72);
        std::vector<float> out(static_cast<std::size_t>(rows * 72));
        std::vector<float> lse(static_cast<std::size_t>(rows));
        Workspace workspace(1);
        dense(shape, {sequence.query.data(), rows, 80}, tables.heads(), seen, workspace,
              {out.data(), rows, 72}, lse);
        for (const StoredSequence* stored : {&sequence, &cut}) {
          const Answer answer = attend(item_of(*stored, seen));
          EXPECT_EQ(answer.out, out);
          EXPECT_EQ(answer.lse, lse);
        }
      });
}

TEST(SieveDense, SomeOfManyRowsHaveTheBitsThatTheyHaveAmongAll) {
  for_each_target([&](const char*) {
    const StoredSequence sequence({40, 2, 64, 64, 0.1F}, DType::bf16, Kind::normal, 20, usual(3),
                                  4);
    const std::vector<std::int64_t> seen(20, usual_tokens);
    const Answer all = attend(item_of(sequence, seen));
    sieve::DenseItem item = item_of(sequence, std::span(seen).first(3));
    item.all_rows = 20;
    const Answer some = attend(item);
    EXPECT_TRUE(std::equal(some.out.begin(), some.out.end(), all.out.begin()));
    EXPECT_TRUE(std::equal(some.lse.begin(), some.lse.end(), all.lse.begin()));
  });
}

TEST(SieveDense, CertificatesChangeNoBit) {
  for (const int rows : {3, 30}) {
    const StoredSequence sequence({2 * rows, 2, 64, 64, 0.1F}, DType::f16, Kind::normal, rows,
                                  usual(4), 5);
    const std::vector<std::int64_t> seen = some_seen(rows);
    const Answer with = attend(item_of(sequence, seen));
    const Answer without = attend(item_of(sequence, seen), false);
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.lse, without.lse);
  }
}

TEST(SieveDense, MorePlanesProveMore) {
  for (const int rows : {2, 20}) {
    double last = 1;
    for (const int levels : {2, 3, 4}) {
      const StoredSequence sequence({2 * rows, 2, 64, 64, 0.125F}, DType::bf16, Kind::normal, rows,
                                    {{128, levels}, {128, levels}, {128, levels}, {20}}, 6);
      const Answer answer =
          attend(item_of(sequence, std::vector<std::int64_t>(static_cast<std::size_t>(rows), 404)));
      const double tau = answer.certificates[0].tau;
      EXPECT_LT(tau, last / 4);
      last = tau;
    }
    EXPECT_LT(last, 1e-3);
  }
}

TEST(SieveDense, RowsThatAreNotFiniteSaySo) {
  for (const int rows : {3, 20})
    for_each_target([&](const char*) {
      StoredSequence sequence({2 * rows, 2, 64, 64, 0.1F}, DType::bf16, Kind::normal, rows,
                              usual(3), 7);
      const std::vector<std::int64_t> seen(static_cast<std::size_t>(rows), usual_tokens);
      const Answer before = attend(item_of(sequence, seen));
      sequence.query[64 + 5] = std::numeric_limits<float>::quiet_NaN();
      sequence.query[128 + 5] = std::numeric_limits<float>::infinity();
      const Answer answer = attend(item_of(sequence, seen));
      for (const std::size_t r : {1U, 2U}) {
        EXPECT_TRUE(std::isnan(answer.out[64 * r]));
        EXPECT_TRUE(std::isnan(answer.lse[r]));
        EXPECT_EQ(answer.certificates[r].reached, tamis::Reached::not_finite);
        EXPECT_EQ(answer.certificates[r].tau, std::numeric_limits<double>::infinity());
      }
      EXPECT_TRUE(std::equal(answer.out.begin(), answer.out.begin() + 64, before.out.begin()));
      EXPECT_EQ(answer.certificates[0].tau, before.certificates[0].tau);
    });
}

TEST(SieveDense, AllocatesNothing) {
  for (const int rows : {3, 30}) {
    const StoredSequence sequence({2 * rows, 2, 64, 64, 0.1F}, DType::bf16, Kind::normal, rows,
                                  usual(3), 8);
    const std::vector<std::int64_t> seen = some_seen(rows);
    const sieve::DenseItem item = item_of(sequence, seen);
    std::vector<float> scratch(static_cast<std::size_t>(sieve::dense_scratch(item)));
    Answer answer{std::vector<float>(seen.size() * 64), std::vector<float>(seen.size()),
                  std::vector<tamis::Certificate>(seen.size())};
    const std::int64_t before = allocations();
    sieve::attend_dense(item, scratch.data(), {answer.out.data(), rows, 64}, answer.lse,
                        answer.certificates);
    EXPECT_EQ(allocations(), before);
  }
}

TEST(SieveDense, BudgetsOfMassAreMetByWhatIsProved) {
  tamis::Certificate c;
  c.tau = 0.05;
  EXPECT_EQ(sieve::reached_by(parse_budget("mass:0.05"), c), tamis::Reached::met);
  c.tau = 0.051;
  EXPECT_EQ(sieve::reached_by(parse_budget("mass:0.05"), c), tamis::Reached::stored_bits);
  c.dense_bytes = 100;
  c.bytes = 30;
  EXPECT_EQ(sieve::reached_by(parse_budget("bytes:0.3"), c), tamis::Reached::met);
  c.bytes = 31;
  EXPECT_EQ(sieve::reached_by(parse_budget("bytes:0.3"), c), tamis::Reached::look_alone);
}

}  // namespace
}  // namespace tamis::test
