// What a cache refuses, and the messages of its errors.
#include <gtest/gtest.h>
#include <tamis/cache.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/cache/cache_model.h"
#include "support/io_files.h"

namespace tamis::test {
namespace {

using test::Modelled;
using test::ModelRows;
using test::ModelTokens;

constexpr Heads heads{.query_heads = 4, .kv_heads = 2, .key_dim = 5, .value_dim = 3, .scale = 1.0F};

CacheOptions coded_at_once() {
  CacheOptions options;
  options.raw_below = 0;
  return options;
}

std::string refusal(Heads wrong, const CacheOptions& options = {}) {
  return sentence([&] { const Cache cache(wrong, options); }, Code::usage);
}

TEST(CacheContract, HeadsAndOptionsThatCannotBeAreRefusedByName) {
  Heads wrong = heads;
  wrong.kv_heads = 0;
  EXPECT_EQ(refusal(wrong), "kv_heads is 0; it must be 1 … 65,536");
  wrong = heads;
  wrong.query_heads = 5;
  EXPECT_EQ(refusal(wrong), "query_heads is 5; it must be a multiple of kv_heads up to 65,536");
  wrong = heads;
  wrong.key_dim = 1025;
  EXPECT_EQ(refusal(wrong), "key_dim is 1025; it must be 1 … 1024");
  wrong = heads;
  wrong.value_dim = 0;
  EXPECT_EQ(refusal(wrong), "value_dim is 0; it must be 1 … 1024");
  wrong = heads;
  wrong.scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(wrong), "scale is nan; it must be finite");
  CacheOptions options;
  options.bits = 4;
  EXPECT_EQ(refusal(heads, options), "bits is 4; it must be 8, 12 or 16");
  options = {};
  options.dtype = DType::f64;
  EXPECT_EQ(refusal(heads, options), "dtype is f64; a cache keeps f32, f16 or bf16");
  options = {};
  options.sinks = 129;
  EXPECT_EQ(refusal(heads, options), "sinks is 129; it must be 0 … 128");
  options = {};
  options.raw_below = -1;
  EXPECT_EQ(refusal(heads, options), "raw_below is -1; it must be 0 or more");
}

TEST(CacheContract, SequencesThatAreNotThereOrThereAlreadyAreNamed) {
  Modelled x(heads, {});
  x.add(7);
  const auto refused = [](const std::function<void()>& call) {
    return sentence(call, Code::usage);
  };
  const std::string absent = "the cache has no sequence 8; add, fork or load it first";
  EXPECT_EQ(refused([&] { x.cache.add(7); }),
            "the cache has a sequence 7 already; remove it first or choose another name");
  EXPECT_EQ(refused([&] { x.cache.fork(7, 0, 7); }),
            "the cache has a sequence 7 already; remove it first or choose another name");
  EXPECT_EQ(refused([&] { x.cache.fork(8, 0, 9); }), absent);
  EXPECT_EQ(refused([&] { x.cache.remove(8); }), "the cache has no sequence 8 to remove");
  EXPECT_EQ(refused([&] { (void)x.cache.tokens(8); }), absent);
  EXPECT_EQ(refused([&] { x.cache.truncate(8, 0); }), absent);
  EXPECT_EQ(refused([&] { x.cache.shed(8, 8, 0); }), absent);
  EXPECT_EQ(refused([&] { x.append(8, 1); }), absent);
  EXPECT_EQ(refused([&] { x.cache.save(8, "nowhere"); }), absent);
  EXPECT_FALSE(x.cache.contains(8));
  EXPECT_TRUE(x.cache.contains(7));
}

TEST(CacheContract, LengthsThatAreNotThereAreRefused) {
  Modelled x(heads, {});
  x.add(7);
  x.append(7, 10);
  const auto refused = [](const std::function<void()>& call) {
    return sentence(call, Code::usage);
  };
  EXPECT_EQ(refused([&] { x.cache.truncate(7, 11); }),
            "tokens is 11; sequence 7 has 10, so it must be 0 … 10");
  EXPECT_EQ(refused([&] { x.cache.fork(7, -1, 8); }),
            "tokens is -1; sequence 7 has 10, so it must be 0 … 10");
  EXPECT_EQ(refused([&] { x.cache.shed(7, 8, 11); }),
            "tokens is 11; sequence 7 has 10, so it must be 0 … 10");
  EXPECT_EQ(refused([&] { x.cache.shed(7, 16, 10); }),
            "a sequence can be shed to 8 or 12 bits, not to 16");
  EXPECT_EQ(x.difference(), "");
}

TEST(CacheContract, AppendsThatMakeNoSenseAreRefusedAsAWhole) {
  Modelled x(heads, {});
  x.add(1);
  x.add(2);
  const std::vector<float> zeros(100);
  const tamis::Rows keys{zeros.data(), DType::bf16, 10, 5};
  const tamis::Rows values{zeros.data(), DType::bf16, 6, 3};
  const auto refused = [&](std::vector<Sequence> sequences, std::vector<std::int64_t> tokens,
                           const tamis::Rows& k, const tamis::Rows& v) {
    return sentence([&] { x.cache.append(sequences, tokens, k, v, x.workspace); }, Code::usage);
  };
  EXPECT_EQ(refused({1, 2}, {1}, keys, values),
            "an append names 2 sequences and 1 numbers of tokens; give one for each");
  EXPECT_EQ(refused({1, 2, 1}, {1, 1, 1}, keys, values),
            "sequence 1 is named twice in one append; join its tokens");
  EXPECT_EQ(
      refused({1, 2}, {1, -1}, keys, values),
      "-1 tokens are to be appended to sequence 2, which has 0; it must be 0 … 1099511627776");
  tamis::Rows wrong = keys;
  wrong.data = nullptr;
  EXPECT_EQ(refused({1}, {1}, wrong, values), "the keys are a null pointer");
  wrong = values;
  wrong.dtype = DType::f32;
  EXPECT_EQ(refused({1}, {1}, keys, wrong),
            "the values are f32 and the cache keeps bf16, which would round them; append bf16 or "
            "keep f32");
  wrong.dtype = DType::i8;
  EXPECT_EQ(refused({1}, {1}, keys, wrong), "the values are i8; they must be f32, f16 or bf16");
  EXPECT_EQ(x.difference(), "");
}

TEST(CacheContract, ANumberThatIsNotFiniteIsNamedAndNothingIsAppended) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t stride : {1, 2})
      for (const bool in_key : {true, false})
        for (const float bad :
             {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::quiet_NaN()}) {
          CacheOptions options = coded_at_once();
          options.dtype = dtype;
          Modelled x(heads, options);
          x.add(1);
          x.add(2);
          x.append({1, 2}, {100, 5}, dtype, {});
          // Sequences long enough that pages are coded directly from the caller's memory.
          const std::vector<ModelTokens> tokens{x.draw(150, dtype), x.draw(600, dtype)};
          const test::RowsLayout layout{.channel_stride = stride};
          ModelRows keys(tokens, true, heads.kv_heads, heads.key_dim, dtype, layout);
          ModelRows values(tokens, false, heads.kv_heads, heads.value_dim, dtype, layout);
          // Two numbers are wrong; the first is named, whichever thread finds one first.
          ModelRows& wrong = in_key ? keys : values;
          wrong.set(1, 599, 0, 0, bad);
          wrong.set(1, 277, 1, 2, bad);
          const std::vector<Sequence> sequences{1, 2};
          const std::vector<std::int64_t> counts{150, 600};
          const std::string said = sentence(
              [&] { x.cache.append(sequences, counts, keys.rows(), values.rows(), x.workspace); });
          const std::string what = in_key ? "key" : "value";
          const std::string number = std::isnan(bad) ? "nan" : bad > 0 ? "inf" : "-inf";
          EXPECT_EQ(said, "the " + what + " of token 277 appended to sequence 2 has " + number +
                              " in channel 2 of KV head 1; it must be finite");
          EXPECT_EQ(x.difference(), "");
          x.append({1, 2}, {150, 600}, dtype, layout);
          EXPECT_EQ(x.difference(), "");
        }
}

TEST(CacheContract, ACacheThatWasMovedFromSaysSo) {
  Cache cache(heads, {});
  const Cache other(std::move(cache));
  EXPECT_EQ(
      sentence([&] { cache.add(1); },
               Code::usage),  // NOLINT(bugprone-use-after-move): what is tested
      "a Cache that was moved from is empty; it can be assigned to and destroyed, nothing else");
}

TEST(CacheContract, AppendingNothingDoesNothing) {
  Modelled x(heads, coded_at_once());
  x.add(1);
  const Sequence sequence = 1;
  const std::int64_t none = 0;
  x.cache.append({&sequence, 1}, {&none, 1}, {}, {}, x.workspace);
  x.cache.append({}, {}, {}, {}, x.workspace);
  EXPECT_EQ(x.difference(), "");
}

}  // namespace
}  // namespace tamis::test
