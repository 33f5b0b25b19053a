// Numbers that once broke a certificate, each checked against attention in long double by plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <tamis/sieve.h>

#include "support/kinds.h"
#include "support/targets.h"

namespace tamis {
namespace {

/// One KV head and one query head.
struct Numbers {
  Shape shape;
  std::int64_t tokens = 0;
  std::int64_t indexed = 0;
  std::int64_t sinks = 0;
  std::vector<float> q, k, v;
  std::vector<std::int64_t> seen;

  Numbers(std::int64_t n, std::int64_t d, std::int64_t d_v, DType dtype, float scale)
      : tokens(n), indexed(n), k(static_cast<std::size_t>(n * d)), v(static_cast<std::size_t>(n * d_v)) {
    shape.head_dim = d;
    shape.value_dim = d_v;
    shape.dtype = dtype;
    shape.scale = scale;
    q.resize(static_cast<std::size_t>(d));
  }

  /// To what the dtype holds.
  void round() {
    for (std::vector<float>* part : {&k, &v})
      for (float& number : *part) number = testing::stored(shape.dtype, number);
  }
};

/// Returns whether a row was read sparsely.
bool expect_certified(Numbers x, const char* text, bool ladder = true, bool fewest_bytes = true) {
  x.round();
  const std::vector<std::byte> k = testing::bytes_of(x.shape.dtype, x.k);
  const std::vector<std::byte> v = testing::bytes_of(x.shape.dtype, x.v);
  const std::int64_t d = x.shape.head_dim;
  const std::int64_t d_v = x.shape.value_dim;
  const PageTables all(x.shape.dtype, k.data(), v.data(), 1, x.tokens, d, d_v);
  const PageTables part(x.shape.dtype, k.data(), v.data(), 1, x.indexed, d, d_v);
  Index index({x.shape.dtype, 1, d, d_v, x.sinks});
  Workspace workspace(1);
  index.extend(part.heads(), workspace);
  const std::int64_t rows = x.shape.rows();
  std::vector<float> out(static_cast<std::size_t>(rows * d_v));
  std::vector<float> lse(static_cast<std::size_t>(rows));
  std::vector<float> weights(static_cast<std::size_t>(rows * x.tokens));
  std::vector<Certificate> certificates(lse.size());
  const Budget budget = parse_budget(text);
  SieveOptions options;
  options.ladder = ladder;
  options.dense_below = 0;
  options.fewest_bytes = options.forecast = fewest_bytes;
  options.weights = {weights.data(), rows, x.tokens};
  attend(index, x.shape, {x.q.data(), rows, d}, all.heads(), x.seen, {&budget, 1}, options, workspace,
         {out.data(), rows, d_v}, lse, certificates);

  for (std::int64_t r = 0; r < rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t keys =
        x.seen.empty() ? x.tokens : x.seen[static_cast<std::size_t>(r % x.shape.queries)];
    std::vector<long double> e(static_cast<std::size_t>(keys));
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t c = 0; c < d; ++c)
        e[static_cast<std::size_t>(j)] +=
            static_cast<long double>(x.q[static_cast<std::size_t>(r * d + c)]) *
            x.k[static_cast<std::size_t>(j * d + c)] * x.shape.scale;
    const long double top = *std::ranges::max_element(e);
    long double total = 0;
    long double used = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      auto& weight = e[static_cast<std::size_t>(j)];
      weight = std::exp(weight - top);
      total += weight;
      used += weights[static_cast<std::size_t>(r * x.tokens + j)];
    }
    long double distance = 0;
    long double error2 = 0;
    for (std::int64_t j = 0; j < keys; ++j)
      distance += std::abs(e[static_cast<std::size_t>(j)] / total -
                           weights[static_cast<std::size_t>(r * x.tokens + j)] / used) /
                  2;
    for (std::int64_t c = 0; c < d_v; ++c) {
      long double o = -static_cast<long double>(out[static_cast<std::size_t>(r * d_v + c)]);
      for (std::int64_t j = 0; j < keys; ++j)
        o += e[static_cast<std::size_t>(j)] / total * x.v[static_cast<std::size_t>(j * d_v + c)];
      error2 += o * o;
    }
    // The margins are a thousand times what long double loses here, and far below what the cases once
    // showed.
    const Certificate& c = certificates[i];
    EXPECT_LE(static_cast<double>(distance), c.tau + 1e-12) << text << " row " << r << " dense " << c.dense;
    EXPECT_LE(static_cast<double>(std::sqrt(error2)), c.error * (1 + 1e-9)) << text << " row " << r;
    EXPECT_LE(static_cast<double>(std::abs(lse[i] - (top + std::log(total)))), c.lse_error + 1e-12) << text;
  }
  return !std::ranges::all_of(certificates, &Certificate::dense);
}

TEST(SieveRegression, KeysFarBelowTheCentreOfTheirBlock) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  Numbers x(2048, 64, 64, DType::f32, 0.6931472F);
  std::ranges::fill(x.q, 5.0F);
  x.q[0] = 20.0F;
  for (std::size_t j = 0; j < 2048; ++j)
    for (std::size_t c = 0; c < 64; ++c) {
      const std::size_t place = j % 128;
      const double code = c == 0 ? static_cast<double>(8 + 16 * (random() % 16)) : 8.0;
      double key = 0.5 + 1025 / 16384.0 * (code - 127.5) / 16;
      if (c == place % 64) key = place < 64 ? 0 : 1;
      x.k[j * 64 + c] = static_cast<float>(key);
      x.v[j * 64 + c] = uniform(random) - 0.5F + (c == 0 ? static_cast<float>(8 * key) : 0.0F);
    }
  expect_certified(x, "bytes:0.3");
  x.sinks = 4;
  expect_certified(x, "bytes:0.2");
  expect_certified(x, "mass:0.3");
}

TEST(SieveRegression, ValuesMuchLongerThanKeysAfterTheLastBlock) {
  Numbers x(2148, 32, 1024, DType::bf16, 0.6931472F);
  x.indexed = 2048;
  std::ranges::fill(x.q, 7.0F);
  for (std::size_t j = 0; j < 2148; ++j)
    for (std::size_t c = 0; c < 32; ++c)
      x.k[j * 32 + c] = j >= 2048 ? (j == 2049 ? 0.09375F : 0.0F) : (c == j % 32 ? 1.0F : 0.0F);
  std::fill_n(x.v.begin() + 2049 * 1024, 1024, 1.0F);
  for (const char* budget : {"bytes:0.1", "bytes:0.04"}) expect_certified(x, budget);
}

TEST(SieveRegression, CodesThatVanishInTheSumOfTheirCentroids) {
  // All weights are near 1.07, so that a span sums to more than 2048, and what a code adds is below half of
  // the last digit of that. Two keys far below widen the range of the one channel that counts: all others
  // must be refined.
  Numbers x(2048, 32, 64, DType::f32, 1);
  x.q[0] = 1;
  const float a = 5e-5F;
  for (std::size_t j = 0; j < 2048; ++j) {
    x.k[j * 32] = j % 128 < 2 ? 0.07F - 4 : 0.07F;
    for (std::size_t c = 0; c < 64; ++c) x.v[j * 64 + c] = c < 32 ? 1 + a : 1 - a;
  }
  expect_certified(x, "mass:0.01");
  expect_certified(x, "mass:0.01", true, false);
}

TEST(SieveRegression, AScaleInTheDenormalRange) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(-0.3F, 0.7F);
  Numbers x(2048, 32, 32, DType::f32, 0x1p-148F);
  for (float& y : x.q) y = 0x1p120F * uniform(random);
  for (float& y : x.k) y = 0x1p29F * uniform(random);
  for (float& y : x.v) y = uniform(random);
  x.sinks = 4;
  for (const char* budget : {"mass:0.02", "bytes:0.6"}) expect_certified(x, budget);
}

TEST(SieveRegression, ARowThatSeesNothingOfTheSample) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  Numbers x(4096, 32, 32, DType::f32, 0.6931472F);
  x.shape.queries = 2;
  x.q.assign(64, 0.0F);
  x.q[0] = x.q[32] = -10.0F;
  for (std::size_t j = 0; j < 4096; ++j)
    for (std::size_t c = 0; c < 32; ++c) {
      x.k[j * 32 + c] = c == 0 ? 10.5F + 0.001F * uniform(random) : uniform(random);
      x.v[j * 32 + c] = 0x1p-45F * (1 + 1e-3F * uniform(random));
    }
  x.seen = {100, 4096};
  for (const char* budget : {"window:60,0", "bytes:0.6", "mass:0.01"}) expect_certified(x, budget);
}

TEST(SieveRegression, QueriesThatVanishWhenScaledAndKeysThatFillTheRange) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(0, 1);
  Numbers x(1500, 1024, 32, DType::f32, 1.0F);
  x.indexed = 1024;
  std::ranges::fill(x.q, 0x1p-149F);
  for (std::size_t j = 0; j < 1500; ++j)
    for (std::size_t c = 0; c < 1024; ++c)
      x.k[j * 1024 + c] = j < 1024 ? uniform(random) : j % 2 != 0 ? 3e38F : 0.0F;
  for (float& y : x.v) y = uniform(random);
  for (const char* budget : {"bytes:0.6", "mass:0.1"}) expect_certified(x, budget);
}

TEST(SieveRegression, KeysWhoseNormIsBeyondTheRangeOfF32) {
  Numbers x(256, 32, 32, DType::f32, 1.0F);
  std::ranges::fill(x.k, 3e38F);
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] = static_cast<float>(i % 7);
  expect_certified(x, "mass:0.1");
}

TEST(SieveRegression, ABlockFarBelowAReferenceThatIsFarAboveTheTruth) {
  // One block has 16 keys 75 octaves above its centre, which hold the weight, and the others as far below.
  // What 4 bits miss of the other block's keys lies across the query: they are 8 octaves lower in truth,
  // but their bounds, and with them the reference, are more than 150 octaves above the first block's
  // centre.
  Numbers x(256, 32, 8, DType::f32, 0.6931472F);
  x.q[0] = 1.0F;
  for (std::size_t c = 1; c < 31; ++c) x.q[c] = c % 2 == 1 ? 3.0F : -3.0F;
  for (std::size_t j = 0; j < 256; ++j) {
    float* key = x.k.data() + j * 32;
    const bool wide = j < 128;
    const std::size_t place = j % 128;
    key[0] = !wide ? 64.0F : place < 16 ? 75.0F : -75.0F;
    // Two keys span each pair of channels. The rest of them is where the codes miss nothing, or most.
    for (std::size_t c = 1; c < 31; ++c) {
      const float end = place % 2 == 0 ? 8.0F : -8.0F;
      const float inside = wide ? 0.5F : std::copysign(0x1p-5F, x.q[c]);
      key[c] = (place / 2 == (c - 1) / 2 ? end : inside) * (wide ? 0x1p-6F : 1.0F);
    }
    x.v[j * 8 + (wide ? 0 : 1)] = 1.0F;
  }
  testing::for_each_target([&](const char* target) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      SCOPED_TRACE(std::string(target) + " " + std::string(name_of(dtype)));
      x.shape.dtype = dtype;
      int sparse = 0;
      for (const char* budget :
           {"window:128,4", "topk:130", "power:130,0", "bytes:0.85", "mass:0.3", "mass:0.05", "mass:0.001"})
        for (const bool ladder : {true, false})
          for (const bool fewest_bytes : {true, false})
            sparse += expect_certified(x, budget, ladder, fewest_bytes) ? 1 : 0;
      EXPECT_GE(sparse, 4);  // numbers that are all read densely would show nothing
    }
  });
}

TEST(SieveRegression, AWarmStartChangesNothingWhereExactValuesAreTheCheaperOnes) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 20; ++trial) {
    Numbers x(1536, 32, 4, DType::bf16, 0.5F * static_cast<float>(1 + trial % 6));
    std::vector<float> centre(32);
    for (float& y : centre) y = normal(random);
    for (std::size_t i = 0; i < x.k.size(); ++i) x.k[i] = 0.02F * normal(random) + centre[i % 32];
    for (float& y : x.v) y = normal(random);
    for (std::size_t c = 0; c < 32; ++c) x.q[c] = normal(random) + centre[c] * 0.5F;
    x.round();
    const std::vector<std::byte> k = testing::bytes_of(x.shape.dtype, x.k);
    const std::vector<std::byte> v = testing::bytes_of(x.shape.dtype, x.v);
    const PageTables pages(x.shape.dtype, k.data(), v.data(), 1, x.tokens, 32, 4);
    Index index({x.shape.dtype, 1, 32, 4});
    Workspace cold(1);
    Workspace warm(1);
    index.extend(pages.heads(), cold);
    const auto run = [&](Workspace& workspace, const std::vector<float>& q, double share) {
      Budget budget = parse_budget("bytes:0.5");
      budget.share = share;
      std::vector<float> out(5);
      Certificate certificate;
      attend(index, x.shape, {q.data(), 1, 32}, pages.heads(), {}, {&budget, 1}, {}, workspace,
             {out.data(), 1, 4}, {out.data() + 4, 1}, {&certificate, 1});
      return out;
    };
    std::vector<float> other(32);
    for (float& y : other) y = 3 * normal(random);
    const double share = 0.40 + 0.01 * trial;
    const std::vector<float> expected = run(cold, x.q, share);
    for (const double before : {0.34, 0.5, 0.9}) {
      run(warm, other, before);
      EXPECT_EQ(run(warm, x.q, share), expected) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace tamis
