// The index as an object: built in any steps, cut, copied, refused bad numbers, and its size.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <tamis/error.h>
#include <tamis/sieve.h>

#include "core/random.h"
#include "support/allocations.h"
#include "support/sieve.h"
#include "support/targets.h"

namespace tamis::testing {
namespace {

constexpr std::int64_t d = 32;
constexpr std::int64_t d_v = 24;

void append(KvStore& store, std::int64_t tokens, std::uint64_t seed) {
  for (std::int64_t t = store.tokens(); t < tokens; ++t) {
    const Stream stream(seed, Purpose::test, static_cast<std::uint64_t>(t));
    std::vector<double> numbers(2 * (d + d_v));
    stream.fill_normal(numbers);
    const std::vector<float> x(numbers.begin(), numbers.end());
    store.append(View<const float>(x.data(), 2, d), View<const float>(x.data() + 2 * d, 2, d_v));
  }
}

/// Two KV heads of `tokens` tokens in f16, a stream per text: same seed, same numbers for every prefix.
KvStore text(std::int64_t tokens, std::uint64_t seed) {
  KvStore store(DType::f16, 2, d, d_v);
  append(store, tokens, seed);
  return store;
}

IndexShape index_shape(bool values = true) { return {DType::f16, 2, d, d_v, 4, values}; }

/// What an index answers over `store`: several budgets, ladder on and off, weights included.
std::vector<SieveResult> answers(const Index& index, const KvStore& store) {
  std::vector<float> q(4 * d);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = 2.0F * std::sin(static_cast<float>(i * i));
  std::vector<SieveResult> results;
  Workspace workspace(1);
  for (const Budget& budget : sieve_budgets())
    for (const bool ladder : {true, false}) {
      SieveCall call;
      call.index = &index;
      call.shape = {4, 2, 1, d, d_v, DType::f16, 0.3F};
      call.q = {q.data(), 4, d};
      call.kv = store.heads();
      call.budgets = {&budget, 1};
      call.ladder = ladder;
      results.push_back(run_attend(call, workspace).value());
    }
  return results;
}

void expect_same_answers(const Index& a, const Index& b, const KvStore& store) {
  EXPECT_EQ(a.tokens(), b.tokens());
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_TRUE(a.shape() == b.shape());
  const std::vector<SieveResult> of_a = answers(a, store);
  const std::vector<SieveResult> of_b = answers(b, store);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    EXPECT_TRUE(same_bits(of_a[i], of_b[i])) << i;
    EXPECT_EQ(of_a[i].weights, of_b[i].weights) << i;
  }
}

Index fresh(const KvStore& store, bool values = true) {
  Index index(index_shape(values));
  Workspace workspace(1);
  index.extend(store.heads(), workspace);
  return index;
}

TEST(SieveIndex, HoldsTheWholeBlocks) {
  const KvStore store = text(600, 1);
  Workspace workspace(1);
  Index index(index_shape());
  EXPECT_EQ(index.tokens(), 0);
  for (const std::int64_t tokens : {0, 1, 127, 128, 129, 255, 256, 600}) {
    index.extend(without_last(store.heads(), 600 - tokens), workspace);
    EXPECT_EQ(index.tokens(), tokens / 128 * 128);
  }
}

TEST(SieveIndex, IsTheSameHoweverItWasBuilt) {
  const KvStore store = text(700, 1);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const bool values : {true, false}) {
      const Index whole = fresh(store, values);
      for (const std::int64_t step : {1, 37, 128, 300}) {
        Index index(index_shape(values));
        Workspace workspace(2);
        for (std::int64_t tokens = 0; tokens < 700; tokens += step)
          index.extend(without_last(store.heads(), 700 - tokens), workspace);
        index.extend(store.heads(), workspace);
        expect_same_answers(index, whole, store);
      }
    }
  });
}

TEST(SieveIndex, TruncatedAndExtendedIsTheSameAsFresh) {
  const KvStore before = text(700, 1);
  for (const std::int64_t cut : {0, 1, 127, 128, 129, 400, 640, 699, 700}) {
    KvStore after = before;  // the same text up to `cut`, then another
    after.truncate(std::min<std::int64_t>(cut, 650));
    append(after, 650, 2);
    Index index = fresh(before);
    index.truncate(cut);
    EXPECT_LE(index.tokens(), cut);
    EXPECT_EQ(index.tokens() % 128, 0);
    Workspace workspace(1);
    index.extend(after.heads(), workspace);
    expect_same_answers(index, fresh(after), after);
  }
  Index index = fresh(before);
  index.truncate(100000);
  expect_same_answers(index, fresh(before), before);
}

TEST(SieveIndex, CopiesAreIndependent) {
  const KvStore store = text(512, 1);
  const KvStore other = text(512, 2);
  Workspace workspace(1);
  const Index original = fresh(store);
  Index copy(original);
  expect_same_answers(copy, original, store);
  copy.truncate(0);
  copy.extend(other.heads(), workspace);
  expect_same_answers(original, fresh(store), store);
  expect_same_answers(copy, fresh(other), other);
  copy = original;
  expect_same_answers(copy, original, store);
  const Index moved = std::move(copy);
  expect_same_answers(moved, original, store);
}

TEST(SieveIndex, RefusesNumbersThatAreNotFiniteAndStaysAsItWas) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr std::int64_t n = 384;
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const float bad : {inf, -inf, std::nanf("")})
      for (const bool in_key : {true, false})
        for (const std::int64_t token : {129, 255, 300}) {
          std::vector<float> k(2 * n * d, 0.5F);
          std::vector<float> v(2 * n * d_v, 0.5F);
          const std::int64_t row = n + token;  // of head 1
          (in_key ? k[static_cast<std::size_t>(row * d + d - 1)]
                  : v[static_cast<std::size_t>(row * d_v + d_v - 1)]) = bad;
          const PageTables tables(DType::f32, k.data(), v.data(), 2, n, d, d_v);
          IndexShape shape = index_shape(token != 300);
          shape.dtype = DType::f32;
          Index index(shape);
          Workspace workspace(1);
          index.extend(without_last(tables.heads(), n - 128), workspace);
          const std::size_t bytes = index.bytes();
          try {
            index.extend(tables.heads(), workspace);
            FAIL() << "no error";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::input);
            EXPECT_NE(std::string(error.what()).find(std::to_string(token)), std::string::npos)
                << error.what();
          }
          EXPECT_EQ(index.tokens(), 128);
          EXPECT_EQ(index.bytes(), bytes);
          // Without the bad number it goes on as if nothing had happened.
          (in_key ? k[static_cast<std::size_t>(row * d + d - 1)]
                  : v[static_cast<std::size_t>(row * d_v + d_v - 1)]) = 0.5F;
          index.extend(tables.heads(), workspace);
          EXPECT_EQ(index.tokens(), n);
        }
  });
}

TEST(SieveIndex, CostsTheShareOfTheCacheThatItPromises) {
  for (const std::int64_t dim : {64, 128})
    for (const bool values : {true, false}) {
      constexpr std::int64_t n = 2048;
      KvStore store(DType::bf16, 1, dim, dim);
      const std::vector<float> numbers(static_cast<std::size_t>(n * dim), 0.5F);
      store.append(View<const float>(numbers.data(), n, dim), View<const float>(numbers.data(), n, dim));
      IndexShape shape{DType::bf16, 1, dim, dim, 4, values};
      Index index(shape);
      Workspace workspace(1);
      index.extend(store.heads(), workspace);
      const auto share = static_cast<double>(index.bytes()) / static_cast<double>(n * dim * 2 * 2);
      EXPECT_LE(share, values ? 0.45 : 0.30) << "d = " << dim;
      EXPECT_GE(share, values ? 0.375 : 0.25) << "d = " << dim;  // the codes alone
      EXPECT_EQ(index.bytes() % (n / page_tokens), 0U);          // every block costs the same
    }
}

TEST(SieveIndex, RefusesShapesThatCannotBe) {
  const auto refuses = [](IndexShape shape) {
    try {
      const Index index(shape);
    } catch (const Error& error) {
      return error.code() == Code::usage;
    }
    return false;
  };
  const IndexShape good = index_shape();
  EXPECT_FALSE(refuses(good));
  const auto with = [&](auto change) {
    IndexShape shape = good;
    change(shape);
    return shape;
  };
  EXPECT_TRUE(refuses(with([](IndexShape& s) { s.dtype = DType::i8; })));
  EXPECT_TRUE(refuses(with([](IndexShape& s) { s.dtype = DType::f64; })));
  for (const std::int64_t size : {-1, 0, 1025}) {
    EXPECT_TRUE(refuses(with([&](IndexShape& s) { s.head_dim = size; })));
    EXPECT_TRUE(refuses(with([&](IndexShape& s) { s.value_dim = size; })));
  }
  EXPECT_TRUE(refuses(with([](IndexShape& s) { s.kv_heads = 0; })));
  EXPECT_TRUE(refuses(with([](IndexShape& s) { s.sinks = -1; })));
  EXPECT_TRUE(refuses(with([](IndexShape& s) { s.sinks = 129; })));
}

TEST(SieveIndex, RefusesPagesThatDoNotFit) {
  const KvStore store = text(256, 1);
  Workspace workspace(1);
  const auto code_of = [&](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return static_cast<int>(error.code());
    }
    return 0;
  };
  Index index(index_shape());
  std::vector<KvPages> uneven(store.heads().begin(), store.heads().end());
  uneven[1].tokens = 255;
  const int usage = static_cast<int>(Code::usage);
  EXPECT_EQ(code_of([&] { index.extend(uneven, workspace); }), usage);
  EXPECT_EQ(code_of([&] { index.extend(store.heads().subspan(0, 1), workspace); }), usage);
  std::vector<KvPages> narrow(store.heads().begin(), store.heads().end());
  narrow[0].k_stride = d - 1;
  EXPECT_EQ(code_of([&] { index.extend(narrow, workspace); }), usage);
  EXPECT_EQ(index.tokens(), 0);
  EXPECT_EQ(code_of([&] { index.truncate(-1); }), usage);
}

}  // namespace
}  // namespace tamis::testing
