// The cache against a model that knows only the appended tokens.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tamis/cache.h>

#include <map>
#include <string>
#include <vector>

#include "cache/view.h"
#include "support/cache/cache_model.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using test::Modelled;
using test::RowsLayout;

constexpr Heads small_heads{
    .query_heads = 4, .kv_heads = 2, .key_dim = 5, .value_dim = 3, .scale = 1.0F};

CacheOptions coded_at_once() {
  CacheOptions options;
  options.raw_below = 0;
  return options;
}

TEST(Cache, AnEmptyCacheHasTakenNothing) {
  const Cache cache(small_heads, {});
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_EQ(cache.free_bytes(), 0U);
  EXPECT_EQ(cache.sequences(), 0U);
}

TEST(Cache, IsRawAsAWholeUntilItHasEnoughTokens) {
  Modelled x(small_heads, {});
  x.add(1);
  x.append(1, 1000);
  x.append(1, 23);
  EXPECT_TRUE(cache::view_of(x.cache, 1).blocks.empty());
  EXPECT_EQ(x.difference(), "");
  x.append(1, 1);
  EXPECT_EQ(cache::view_of(x.cache, 1).blocks.size(), 1U);  // every call adds one block
  x.append(1, 1);
  EXPECT_EQ(cache::view_of(x.cache, 1).blocks.size(), 2U);
  EXPECT_EQ(x.difference(), "");
  x.append(1, 700);
  EXPECT_EQ(cache::view_of(x.cache, 1).blocks.size(), 8U);  // five for its whole blocks, and one
  EXPECT_EQ(x.difference(), "");
}

TEST(Cache, CanBeCutAtEveryOffsetAndGoesOn) {
  Modelled x(small_heads, coded_at_once(), true);
  x.add(1);
  x.append(1, 700);
  for (std::int64_t cut = 0; cut <= 700; ++cut) {
    x.fork(1, 700, 2);
    x.truncate(2, cut);
    ASSERT_EQ(x.difference(2), "") << cut;
    // No token was lost of those that were cut out of the last block.
    if (cut > 512) {
      EXPECT_EQ(cache::view_of(x.cache, 2).blocks.size(), cut < 640 ? 4U : 5U);
    }
    x.append(2, 130);
    x.truncate(2, cut / 2);
    x.append(2, 5);
    ASSERT_EQ(x.difference(2), "") << cut;
    x.remove(2);
  }
  EXPECT_EQ(x.difference(), "");
}

TEST(Cache, AForkAtEveryOffsetSharesAndGoesItsOwnWay) {
  Modelled x(small_heads, coded_at_once(), true);
  x.add(1);
  x.append(1, 700);
  const std::size_t alone = x.used();
  for (std::int64_t cut = 0; cut <= 700; ++cut) {
    x.fork(1, cut, 2);
    EXPECT_LT(x.used() - alone, 2048U);  // lists, but no pages
    x.append(2, 1 + cut % 200);
    ASSERT_EQ(x.difference(2), "") << cut;
    x.remove(2);
    ASSERT_EQ(x.used(), alone) << cut;
  }
  EXPECT_EQ(x.difference(), "");
}

RC_GTEST_PROP(Cache, HoldsWhatItsModelHolds, ()) {
  CacheOptions options;
  options.bits = *rc::gen::element(8, 12, 16);
  options.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
  options.sinks = *rc::gen::element<std::int64_t>(0, 4, 128);
  options.raw_below = *rc::gen::element<std::int64_t>(0, 200, 1024);
  Heads heads = small_heads;
  heads.kv_heads = *rc::gen::element<std::int64_t>(1, 2);
  heads.key_dim = *rc::gen::element<std::int64_t>(1, 5, 32, 40);
  heads.value_dim = *rc::gen::element<std::int64_t>(1, 3, 33, 64);
  Modelled x(heads, options, *rc::gen::arbitrary<bool>());
  const std::size_t empty = x.used();
  const auto any = [&] {
    std::vector<Sequence> all;
    for (const auto& each : x.model) all.push_back(each.first);
    return *rc::gen::elementOf(all);
  };
  const Folder folder;
  Sequence next = 1;
  x.add(next++);
  const int operations = *rc::gen::inRange(1, 25);
  for (int i = 0; i < operations; ++i) {
    const int kind = *rc::gen::inRange(0, 11);
    if (kind == 0 || x.model.empty()) {
      x.add(next++);
    } else if (kind < 5) {
      std::vector<Sequence> sequences;
      std::vector<std::int64_t> counts;
      for (const auto& each : x.model) {
        if (*rc::gen::inRange(0, 3) == 0) continue;
        sequences.push_back(each.first);
        counts.push_back(*rc::gen::element<std::int64_t>(0, 1, 2, 27, 128, 129, 300, 520));
      }
      RowsLayout layout;
      layout.heads_first = *rc::gen::arbitrary<bool>();
      layout.channel_stride = *rc::gen::element<std::int64_t>(1, 1, 2, 3);
      layout.gap = *rc::gen::element<std::int64_t>(0, 5);
      layout.sequences_apart = *rc::gen::arbitrary<bool>();
      const DType given = options.dtype == DType::f32
                              ? *rc::gen::element(DType::f32, DType::f16, DType::bf16)
                              : options.dtype;
      x.append(sequences, counts, given, layout);
    } else if (kind == 5 || kind == 6) {
      const Sequence s = any();
      x.truncate(s, *rc::gen::inRange<std::int64_t>(0, std::ssize(x.model[s]) + 1));
    } else if (kind == 7) {
      const Sequence s = any();
      x.fork(s, *rc::gen::inRange<std::int64_t>(0, std::ssize(x.model[s]) + 1), next++);
    } else if (kind == 8) {
      const Sequence s = any();
      x.cache.shed(s, *rc::gen::element(8, 12),
                   *rc::gen::inRange<std::int64_t>(0, std::ssize(x.model[s]) + 1));
    } else if (kind == 9) {
      x.save_and_load(any(), folder / "s", next++);
    } else {
      x.remove(any());
    }
    RC_ASSERT(x.difference() == "");
  }
  while (!x.model.empty()) x.remove(any());
  RC_ASSERT(x.used() == empty);
  RC_ASSERT(x.cache.bytes() == 0U);
}

}  // namespace
}  // namespace tamis::test
