// The cache through the C ABI: its functions, and error codes and messages for invalid arguments.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/io_files.h"
#include "unit/capi/capi_cache_problem.h"

namespace tamis_c {
namespace {

std::int64_t tokens_of(const tamis_cache* cache, tamis_sequence sequence) {
  std::int64_t tokens = -1;
  EXPECT_EQ(tamis_cache_tokens(cache, sequence, &tokens), TAMIS_OK) << tamis_last_error();
  return tokens;
}

tamis_cache_info info_of(const tamis_cache* cache) {
  tamis_cache_info info{sizeof(tamis_cache_info), 0, 0, 0};
  EXPECT_EQ(tamis_cache_get_info(cache, &info), TAMIS_OK) << tamis_last_error();
  return info;
}

bool contains(const tamis_cache* cache, tamis_sequence sequence) {
  int contains = -1;
  EXPECT_EQ(tamis_cache_contains(cache, sequence, &contains), TAMIS_OK) << tamis_last_error();
  return contains == 1;
}

TEST(CApiCache, SequencesAreAddedForkedCutAndRemoved) {
  CacheProblem p;
  EXPECT_EQ(tokens_of(p.cache, 7), p.tokens);
  EXPECT_EQ(tokens_of(p.cache, 9), p.fewer);
  EXPECT_EQ(info_of(p.cache).sequences, 2);
  EXPECT_GT(info_of(p.cache).bytes, 0U);
  ASSERT_EQ(tamis_cache_truncate(p.cache, 9, 1000), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(tokens_of(p.cache, 9), 1000);
  EXPECT_EQ(tokens_of(p.cache, 7), p.tokens);
  ASSERT_EQ(tamis_cache_shed(p.cache, 7, 8, 2000), TAMIS_OK) << tamis_last_error();
  ASSERT_EQ(tamis_cache_remove(p.cache, 9), TAMIS_OK) << tamis_last_error();
  EXPECT_FALSE(contains(p.cache, 9));
  EXPECT_TRUE(contains(p.cache, 7));
  ASSERT_EQ(tamis_cache_remove(p.cache, 7), TAMIS_OK);
  EXPECT_EQ(info_of(p.cache).sequences, 0);
  EXPECT_EQ(info_of(p.cache).bytes, info_of(p.cache).free_bytes);
}

TEST(CApiCache, OneCallAppendsToManySequences) {
  CacheProblem p;
  const std::vector<std::int64_t> many{3, 5};
  // Row t of KV head h; the rows of both sequences are concatenated.
  const std::vector<float> k = random_floats(8 * 2 * p.dim, 1);
  const std::vector<float> v = random_floats(8 * 2 * p.value_dim, 2);
  const tamis_rows keys{sizeof(tamis_rows), k.data(), TAMIS_F32, 0, 2 * p.dim, p.dim, 1, 0};
  const tamis_rows values{sizeof(tamis_rows), v.data(),    TAMIS_F32, 0,
                          2 * p.value_dim,    p.value_dim, 1,         0};
  ASSERT_EQ(
      tamis_cache_append(p.cache, 2, p.sequences.data(), many.data(), &keys, &values, p.workspace),
      TAMIS_OK)
      << tamis_last_error();
  EXPECT_EQ(tokens_of(p.cache, 7), p.tokens + 3);
  EXPECT_EQ(tokens_of(p.cache, 9), p.fewer + 5);
}

TEST(CApiCache, ANumberThatIsNotFiniteIsNamedAndLeavesTheSequenceAsItWas) {
  CacheProblem p;
  p.k[static_cast<std::size_t>((p.tokens + 200) * p.dim + 3)] =
      std::nanf("");  // KV head 1, token 200
  EXPECT_EQ(p.append(p.cache, 9, 150, 100), TAMIS_INPUT);
  for (const char* part : {"sequence 9", "head 1", "channel 3"})
    EXPECT_NE(std::string(tamis_last_error()).find(part), std::string::npos) << tamis_last_error();
  EXPECT_EQ(tokens_of(p.cache, 9), p.fewer);
}

TEST(CApiCache, ZerosAndNoOptionsMeanTheDefaults) {
  CacheProblem p;
  Cache plain;
  ASSERT_EQ(tamis_cache_create(&p.heads, nullptr, &plain), TAMIS_OK) << tamis_last_error();
  ASSERT_EQ(tamis_cache_add(plain, 1), TAMIS_OK);
  // Raw tokens are bf16 unless another dtype is requested, and f32 rows do not fit bf16.
  expect_usage(p.append(plain, 1, 0, 1), "bf16");
  for (const std::int32_t bits : {8, 12, 16}) {
    tamis_cache_options options = p.cache_options;
    options.bits = bits;
    Cache cache;
    ASSERT_EQ(tamis_cache_create(&p.heads, &options, &cache), TAMIS_OK) << tamis_last_error();
    ASSERT_EQ(tamis_cache_add(cache, 7), TAMIS_OK);
    ASSERT_EQ(p.append(cache, 7, 0, p.tokens), TAMIS_OK) << tamis_last_error();
    const std::size_t bytes = info_of(cache).bytes - info_of(cache).free_bytes;
    const std::size_t standard = info_of(p.cache).bytes - info_of(p.cache).free_bytes;
    if (bits == 8) {
      EXPECT_LT(bytes, standard);
    } else if (bits == 12) {
      EXPECT_LE(bytes, standard);  // the standard cache holds a fork in addition
    } else {
      EXPECT_GT(bytes, standard);
    }
  }
}

TEST(CApiCache, MemoryOfTheCallerIsUsedAndGivenBack) {
  struct Lent {
    std::size_t bytes = 0;
    std::size_t calls = 0;
  } lent;
  const tamis_memory memory{sizeof(tamis_memory), &lent,
                            [](void* context, std::size_t bytes) {
                              auto& l = *static_cast<Lent*>(context);
                              l.bytes += bytes;
                              ++l.calls;
                              return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
                            },
                            [](void* context, void* at, std::size_t bytes) {
                              static_cast<Lent*>(context)->bytes -= bytes;
                              std::free(at);
                            }};
  CacheProblem p;
  p.cache_options.memory = &memory;
  {
    Cache cache;
    ASSERT_EQ(tamis_cache_create(&p.heads, &p.cache_options, &cache), TAMIS_OK)
        << tamis_last_error();
    ASSERT_EQ(tamis_cache_add(cache, 7), TAMIS_OK);
    ASSERT_EQ(p.append(cache, 7, 0, p.tokens), TAMIS_OK) << tamis_last_error();
    EXPECT_GT(lent.calls, 0U);
    EXPECT_LE(lent.bytes, info_of(cache).bytes);  // which counts lists of pages as well
    EXPECT_GT(lent.bytes, info_of(cache).bytes / 2);
  }
  EXPECT_EQ(lent.bytes, 0U);
}

TEST(CApiCache, ExhaustedMemoryIsACodeAndASentence) {
  CacheProblem p;
  p.cache_options.capacity = 1;
  Cache cache;
  ASSERT_EQ(tamis_cache_create(&p.heads, &p.cache_options, &cache), TAMIS_OK) << tamis_last_error();
  ASSERT_EQ(tamis_cache_add(cache, 7), TAMIS_OK);
  EXPECT_EQ(p.append(cache, 7, 0, 1), TAMIS_INTERNAL);
  EXPECT_STRNE(tamis_last_error(), "");
  EXPECT_EQ(tokens_of(cache, 7), 0);
}

TEST(CApiCache, ASequenceIsSavedAndLoaded) {
  CacheProblem p;
  const tamis::test::Folder folder;
  const std::string path = folder / "sequence";
  ASSERT_EQ(tamis_cache_save(p.cache, 9, path.c_str()), TAMIS_OK) << tamis_last_error();
  expect_usage(tamis_cache_load(p.cache, 7, path.c_str()), "7");
  ASSERT_EQ(tamis_cache_load(p.cache, 3, path.c_str()), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(tokens_of(p.cache, 3), p.fewer);
  const std::string none = folder / "none";
  EXPECT_EQ(tamis_cache_load(p.cache, 4, none.c_str()), TAMIS_INPUT);
  EXPECT_NE(std::string(tamis_last_error()).find(none), std::string::npos) << tamis_last_error();
  EXPECT_FALSE(contains(p.cache, 4));
}

TEST(CApiCache, NonsenseHeadsAndOptionsGiveUsage) {
  const std::vector<std::pair<std::function<void(tamis_heads&, tamis_cache_options&)>, const char*>>
      breaks{
          {[](auto& h, auto&) { h.size = 0; }, "sizeof(tamis_heads)"},
          {[](auto& h, auto&) { h.reserved = 1; }, "reserved"},
          {[](auto& h, auto&) { h.kv_heads = 0; }, "kv_heads"},
          {[](auto& h, auto&) { h.query_heads = 3; }, "query_heads"},
          {[](auto& h, auto&) { h.query_heads = huge - 1; }, "query_heads"},
          {[](auto& h, auto&) { h.key_dim = 0; }, "key_dim"},
          {[](auto& h, auto&) { h.key_dim = huge; }, "key_dim"},
          {[](auto& h, auto&) { h.value_dim = 1025; }, "value_dim"},
          {[](auto& h, auto&) { h.scale = std::numeric_limits<float>::infinity(); }, "scale"},
          {[](auto&, auto& o) { o.size = 4; }, "sizeof(tamis_cache_options)"},
          {[](auto&, auto& o) { o.bits = 4; }, "bits"},
          {[](auto&, auto& o) { o.bits = -12; }, "bits"},
          {[](auto&, auto& o) { o.dtype = TAMIS_F64; }, "dtype"},
          {[](auto&, auto& o) { o.dtype = 99; }, "dtype"},
          {[](auto&, auto& o) { o.sinks = 129; }, "sinks"},
          {[](auto&, auto& o) { o.sinks = -2; }, "sinks"},
          {[](auto&, auto& o) { o.raw_below = -2; }, "raw_below"},
      };
  for (const auto& [spoil, part] : breaks) {
    tamis_heads heads{sizeof(tamis_heads), 4, 2, 32, 24, 0.2F, 0};
    tamis_cache_options options{sizeof(tamis_cache_options), 12, TAMIS_F32, 4, 1024, 0, nullptr};
    spoil(heads, options);
    Cache cache;
    cache.handle = reinterpret_cast<tamis_cache*>(&cache);  // must be overwritten
    expect_usage(tamis_cache_create(&heads, &options, &cache), part);
    EXPECT_EQ(cache.handle, nullptr);
  }
  const tamis_heads heads{sizeof(tamis_heads), 4, 2, 32, 24, 0.2F, 0};
  const tamis_memory half{sizeof(tamis_memory), nullptr, nullptr, [](void*, void*, std::size_t) {}};
  const tamis_cache_options options{sizeof(tamis_cache_options), 0, TAMIS_F32, 0, 0, 0, &half};
  Cache cache;
  expect_usage(tamis_cache_create(&heads, &options, &cache), "allocate");
}

TEST(CApiCache, CallsThatMakeNoSenseGiveUsageAndLeaveTheCacheAsItWas) {
  CacheProblem p;
  expect_usage(tamis_cache_add(p.cache, 7), "7");
  expect_usage(tamis_cache_remove(p.cache, 8), "8");
  expect_usage(tamis_cache_fork(p.cache, 7, p.tokens + 1, 8), "tokens");
  expect_usage(tamis_cache_fork(p.cache, 7, -1, 8), "tokens");
  expect_usage(tamis_cache_fork(p.cache, 7, 1, 9), "9");
  expect_usage(tamis_cache_fork(p.cache, 8, 1, 10), "8");
  expect_usage(tamis_cache_truncate(p.cache, 7, p.tokens + 1), "tokens");
  expect_usage(tamis_cache_shed(p.cache, 7, 10, 100), "bits");
  std::int64_t tokens = 0;
  expect_usage(tamis_cache_tokens(p.cache, 8, &tokens), "8");
  expect_usage(p.append(p.cache, 7, 0, -1), "tokens");
  expect_usage(p.append(p.cache, 7, 0, huge), "tokens");
  expect_usage(p.append(p.cache, 8, 0, 1), "8");

  const std::vector<std::int64_t> one{1, 1};
  const std::vector<tamis_sequence> twice{7, 7};
  tamis_rows keys = p.keys();
  const tamis_rows values = p.values();
  const auto append = [&] {
    return tamis_cache_append(p.cache, 1, p.sequences.data(), one.data(), &keys, &values,
                              p.workspace);
  };
  expect_usage(
      tamis_cache_append(p.cache, 2, twice.data(), one.data(), &keys, &values, p.workspace),
      "twice");
  expect_usage(
      tamis_cache_append(p.cache, SIZE_MAX, twice.data(), one.data(), &keys, &values, p.workspace),
      "sequences");
  keys.size = 8;
  expect_usage(append(), "sizeof(tamis_rows)");
  keys = p.keys();
  keys.reserved = 1;
  expect_usage(append(), "reserved");
  keys = p.keys();
  keys.dtype = TAMIS_I8;
  expect_usage(append(), "i8");
  EXPECT_EQ(tokens_of(p.cache, 7), p.tokens);
  EXPECT_EQ(tokens_of(p.cache, 9), p.fewer);
}

TEST(CApiCache, NullPointersGiveUsage) {
  CacheProblem p;
  Cache cache;
  const std::int64_t one = 1;
  const tamis_sequence sequence = 7;
  tamis_rows nothing = p.keys();
  nothing.data = nullptr;
  const tamis_rows keys = p.keys();
  const tamis_rows values = p.values();
  std::int64_t tokens = 0;
  int flag = 0;
  tamis_cache_info info{sizeof(tamis_cache_info), 0, 0, 0};
  const auto append = [&](tamis_cache* c, const tamis_sequence* s, const std::int64_t* n,
                          const tamis_rows* k, const tamis_rows* v,
                          tamis_workspace* w) { return tamis_cache_append(c, 1, s, n, k, v, w); };
  const std::vector<tamis_code> codes{
      tamis_cache_create(nullptr, nullptr, &cache),
      tamis_cache_create(&p.heads, nullptr, nullptr),
      tamis_cache_get_info(nullptr, &info),
      tamis_cache_get_info(p.cache, nullptr),
      tamis_cache_add(nullptr, 1),
      tamis_cache_fork(nullptr, 7, 1, 8),
      tamis_cache_remove(nullptr, 7),
      tamis_cache_contains(nullptr, 7, &flag),
      tamis_cache_contains(p.cache, 7, nullptr),
      tamis_cache_tokens(nullptr, 7, &tokens),
      tamis_cache_tokens(p.cache, 7, nullptr),
      append(nullptr, &sequence, &one, &keys, &values, p.workspace),
      append(p.cache, nullptr, &one, &keys, &values, p.workspace),
      append(p.cache, &sequence, nullptr, &keys, &values, p.workspace),
      append(p.cache, &sequence, &one, nullptr, &values, p.workspace),
      append(p.cache, &sequence, &one, &keys, nullptr, p.workspace),
      append(p.cache, &sequence, &one, &nothing, &values, p.workspace),
      append(p.cache, &sequence, &one, &keys, &values, nullptr),
      tamis_cache_truncate(nullptr, 7, 0),
      tamis_cache_shed(nullptr, 7, 8, 0),
      tamis_cache_save(nullptr, 7, "x"),
      tamis_cache_save(p.cache, 7, nullptr),
      tamis_cache_load(nullptr, 8, "x"),
      tamis_cache_load(p.cache, 8, nullptr),
  };
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], TAMIS_USAGE) << "call " << i;
  tamis_cache_free(nullptr);
  EXPECT_EQ(tokens_of(p.cache, 7), p.tokens);
}

}  // namespace
}  // namespace tamis_c
