// The memory that a cache takes and returns, and what happens when there is none left.
#include <gtest/gtest.h>
#include <tamis/cache.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "cache/view.h"
#include "support/allocations.h"
#include "support/cache/cache_model.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using test::FailingAllocation;
using test::Modelled;

constexpr Heads heads{
    .query_heads = 4, .kv_heads = 2, .key_dim = 40, .value_dim = 33, .scale = 1.0F};

/// Counts the memory that is in use, and refuses more after a given number of slabs.
class CountedMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) noexcept override {
    if (left_ == 0) {
      refused_ = true;
      return nullptr;
    }
    if (left_ > 0) --left_;
    EXPECT_EQ(bytes % 4096, 0U);
    out_ += bytes;
    most_ = std::max(most_, out_);
    return std::aligned_alloc(4096, bytes);
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    out_ -= bytes;
    std::free(memory);
  }
  /// Gives this many more slabs; any number if negative.
  void fail_after(std::int64_t slabs) {
    left_ = slabs;
    refused_ = false;
  }
  [[nodiscard]] std::size_t out() const { return out_; }
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] bool refused() const { return refused_; }

 private:
  std::int64_t left_ = -1;
  std::size_t out_ = 0;
  std::size_t most_ = 0;
  bool refused_ = false;
};

/// Sequences in every state that an append, a fork or a load can meet: empty, raw, coded, with
/// short blocks, and sharing the page that the next token goes into.
struct Scene {
  CountedMemory memory;
  Modelled x;
  Folder folder;
  std::string saved = folder / "1";

  explicit Scene(std::size_t capacity = 0) : x(heads, options(memory, capacity), true) {
    for (const Sequence s : {1, 2, 3}) x.add(s);
    x.append({1, 2}, {300, 40}, DType::bf16, {});
    x.fork(1, 290, 4);
    x.fork(1, 200, 5);
    x.fork(2, 40, 6);
    x.cache.save(1, saved);
  }
  static CacheOptions options(CountedMemory& memory, std::size_t capacity) {
    CacheOptions options;
    options.raw_below = 0;
    options.memory = &memory;
    options.capacity = capacity;
    return options;
  }
  void append() { x.append({1, 2, 3, 4, 5, 6}, {200, 1, 129, 100, 300, 90}, DType::bf16, {}); }
  void load() { x.save_and_load(1, folder / "2", 7); }
};

/// `change` must throw `internal` and leave the sequences as they were.
template <class Change>
void expect_unchanged(Scene& scene, std::int64_t n, const Change& change) {
  SCOPED_TRACE(n);
  const std::size_t used = scene.x.used();
  const std::string said = sentence([&] { change(scene); }, Code::internal);
  EXPECT_NE(said.find("memory"), std::string::npos) << said;
  EXPECT_EQ(scene.x.difference(), "");
  // Lists may have grown, but no page may be left behind.
  EXPECT_LE(scene.x.used(), used + 4096);
}

template <class Change>
void every_slab_fails(const Change& change) {
  for (std::int64_t n = 0;; ++n) {
    Scene scene;
    scene.memory.fail_after(n);
    try {
      change(scene);
    } catch (const Error&) {
    }
    if (!scene.memory.refused()) {
      EXPECT_GT(n, 2);
      break;
    }
    Scene again;
    again.memory.fail_after(n);
    expect_unchanged(again, n, change);
    again.memory.fail_after(-1);
    change(again);
    EXPECT_EQ(again.x.difference(), "");
    for (const Sequence s : {1, 2, 3, 4, 5, 6}) again.x.remove(s);
    if (again.x.cache.contains(7)) again.x.remove(7);
    EXPECT_EQ(again.x.cache.bytes(), 0U);
    EXPECT_EQ(again.memory.out(), 0U);
  }
}

template <class Change>
void every_allocation_fails(const Change& change) {
  std::int64_t failures = 0;
  for (std::int64_t n = 0;; ++n) {
    Scene scene;
    bool failed = false;
    bool thrown = false;
    {
      const FailingAllocation failing(n);
      try {
        change(scene.x.cache, scene);
      } catch (const Error& error) {
        thrown = true;
        EXPECT_EQ(error.code(), Code::internal) << error.what();
      }
      failed = failing.failed();
    }
    if (!failed) break;
    ++failures;
    if (!thrown) continue;  // the failed allocation was optional
    ASSERT_EQ(scene.x.difference(), "") << n;
    change(scene.x.cache, scene);
    for (const Sequence s : {1, 2, 3, 4, 5, 6}) scene.x.cache.remove(s);
    if (scene.x.cache.contains(7)) scene.x.cache.remove(7);
    ASSERT_EQ(scene.x.cache.bytes(), 0U) << n;
  }
#if !defined(TAMIS_UNDER_TSAN)
  EXPECT_GT(failures, 0);
#endif
}

TEST(CacheMemory, AnAppendWithoutMemoryChangesNothingWhereverItEnds) {
  every_slab_fails([](Scene& scene) { scene.append(); });
}

TEST(CacheMemory, ALoadWithoutMemoryChangesNothingWhereverItEnds) {
  every_slab_fails([](Scene& scene) { scene.load(); });
}

TEST(CacheMemory, EveryFailureOfOperatorNewLeavesACacheAsItWas) {
  const std::vector<Sequence> sequences{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> tokens{200, 1, 129, 100, 300, 90};
  const std::vector<std::uint16_t> ones(820 * 2 * 40, 0x3F80);
  const tamis::Rows keys{ones.data(), DType::bf16, 80, 40};
  const tamis::Rows values{ones.data(), DType::bf16, 66, 33};
  every_allocation_fails([&](Cache& cache, Scene& scene) {
    cache.append(sequences, tokens, keys, values, scene.x.workspace);
  });
  every_allocation_fails([](Cache& cache, Scene&) { cache.add(7); });
  every_allocation_fails([](Cache& cache, Scene&) { cache.fork(1, 290, 7); });
  every_allocation_fails([](Cache& cache, Scene& scene) { cache.load(7, scene.saved); });
}

TEST(CacheMemory, TheCapacityIsNeverExceededAndSpaceThatIsGivenBackCanBeUsed) {
  CountedMemory memory;
  constexpr std::size_t capacity = std::size_t{1} << 20;
  Modelled x(heads, Scene::options(memory, capacity));
  x.add(1);
  x.add(2);
  std::string said;
  while (said.empty()) {
    try {
      x.append({1, 2}, {100, 50}, DType::bf16, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::internal);
      said = error.what();
    }
  }
  EXPECT_NE(said.find("the cache's capacity of 1048576 bytes is exhausted"), std::string::npos)
      << said;
  EXPECT_EQ(x.difference(), "");
  EXPECT_LE(memory.most(), capacity);
  EXPECT_GT(memory.most(), capacity / 2);
  x.remove(2);
  x.append(1, 100);
  EXPECT_EQ(x.difference(), "");
  EXPECT_LE(memory.most(), capacity);
}

TEST(CacheMemory, ATinyCacheIsTiny) {
  Heads tiny = heads;
  tiny.key_dim = tiny.value_dim = 4;
  Modelled x(tiny, {});
  x.add(1);
  x.append(1, 3);
  EXPECT_LT(x.cache.bytes(), 16384U);
}

TEST(CacheMemory, SheddingGivesWholeSlabsBack) {
  Heads large = heads;
  large.key_dim = large.value_dim = 128;
  CountedMemory memory;
  CacheOptions options = Scene::options(memory, 0);
  options.bits = 16;
  Modelled x(large, options);
  x.add(1);
  x.append(1, 40 * 128);
  const std::size_t plane =
      40 * 2 * 128 * 128;  // keys and values of 40 blocks, 2 heads, half a byte per channel
  std::size_t before = memory.out();
  for (const int bits : {12, 8}) {
    x.cache.shed(1, bits, 40 * 128);
    EXPECT_LE(memory.out() + plane, before);
    before = memory.out();
    EXPECT_EQ(x.difference(), "");
  }
}

TEST(CacheMemory, WhatIsSharedIsShedByEachAlone) {
  Modelled x(heads, [] {
    CacheOptions options;
    options.raw_below = 0;
    options.bits = 16;
    return options;
  }());
  x.add(1);
  x.append(1, 1000);
  x.fork(1, 900, 2);
  const std::size_t both = x.used();
  x.cache.shed(1, 8, 1000);
  EXPECT_EQ(x.used(), both);
  for (const cache::CodedBlock& block : cache::view_of(x.cache, 1).blocks)
    EXPECT_EQ(block.levels, 2);
  for (const cache::CodedBlock& block : cache::view_of(x.cache, 2).blocks)
    EXPECT_EQ(block.levels, 4);
  EXPECT_EQ(x.difference(), "");
  x.cache.shed(2, 12, 300);  // two blocks lie wholly before position 300
  EXPECT_LT(x.used(), both);
  const auto blocks = cache::view_of(x.cache, 2).blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) EXPECT_EQ(blocks[b].levels, b < 2 ? 3 : 4);
  x.cache.shed(2, 12, 300);
  x.remove(1);
  EXPECT_EQ(x.difference(), "");
  x.cache.shed(2, 8, 900);
  EXPECT_EQ(x.difference(), "");
}

TEST(CacheMemory, ForksOfForksCanBeRemovedInAnyOrder) {
  std::vector<Sequence> order{1, 2, 3, 4};
  do {
    CountedMemory memory;
    Modelled x(heads, Scene::options(memory, 0), true);
    x.add(1);
    x.append(1, 420);
    x.fork(1, 400, 2);
    x.fork(2, 300, 3);
    x.fork(3, 130, 4);
    x.append({1, 2, 3, 4}, {10, 10, 10, 10}, DType::bf16, {});
    for (const Sequence s : order) {
      x.remove(s);
      EXPECT_EQ(x.difference(), "");
    }
    EXPECT_EQ(x.cache.bytes(), 0U);
    EXPECT_EQ(memory.out(), 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(CacheMemory, BytesAreThoseTakenAndWhatIsKeptBeside) {
  CountedMemory memory;
  Modelled x(heads, Scene::options(memory, 0), true);
  for (Sequence s = 1; s <= 20; ++s) {
    x.add(s);
    x.append(s, 150);
  }
  EXPECT_GE(x.cache.bytes(), memory.out());
  EXPECT_LT(x.cache.bytes(), memory.out() + 20 * 2048);
  EXPECT_LE(x.cache.free_bytes(), memory.out());
}

TEST(CacheMemory, AppendingOneTokenAllocatesNothingWithinAPage) {
  CountedMemory memory;
  Modelled x(heads, Scene::options(memory, 0));
  x.add(1);
  x.append(1, 1000);
  const std::vector<std::uint16_t> ones(80, 0x3F80);
  const tamis::Rows keys{ones.data(), DType::bf16, 80, 40};
  const tamis::Rows values{ones.data(), DType::bf16, 66, 33};
  const Sequence sequence = 1;
  const std::int64_t one = 1;
  const std::int64_t before = test::allocations();
  const std::size_t out = memory.out();
  while (x.cache.tokens(1) % 128 != 127)
    x.cache.append({&sequence, 1}, {&one, 1}, keys, values, x.workspace);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(memory.out(), out);
}

TEST(CacheMemory, ALongAppendHoldsFewRawPagesAtATime) {
  CountedMemory memory;
  Heads large = heads;
  large.key_dim = large.value_dim = 128;
  Cache cache(large, Scene::options(memory, 0));
  Workspace workspace(1);
  cache.add(1);
  const std::vector<std::uint16_t> ones(256, 0x3F80);
  const tamis::Rows rows{ones.data(), DType::bf16, 0, 128};  // the same row for all tokens
  const Sequence sequence = 1;
  const std::int64_t tokens = std::int64_t{400} * 128;
  cache.append({&sequence, 1}, {&tokens, 1}, rows, rows, workspace);
  // Raw numbers take 16 bits and codes 12. The bound allows a window of 64 pages and
  // partly filled slabs.
  const std::size_t raw_page = 2 * 2 * 128 * 128 * 2;
  EXPECT_LT(memory.most(), 400 * raw_page * 13 / 16 + 80 * raw_page);
}

}  // namespace
}  // namespace tamis::test
