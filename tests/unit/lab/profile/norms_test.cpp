// Norms of W against a direct computation: rotate the rows of W_Q and W_K, multiply out to hidden
// × hidden, and sum the squares.
#include <tamis/lab/norms.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/law.h>

#include "lab/numbers/random.h"

namespace tamis {
namespace {

struct Layer {
  lab::LayerWeights weights;
  Shape shape;
  std::int64_t hidden = 0;
};

lab::Tensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t row) {
  lab::Tensor tensor(lab::TensorInfo{"w", DType::f64, std::move(shape)});
  std::vector<double> values(static_cast<std::size_t>(tensor.info().elements()));
  lab::numbers::Stream(5, lab::numbers::Purpose::test, row).fill_normal(values);
  std::memcpy(tensor.bytes().data(), values.data(), tensor.bytes().size());
  return tensor;
}

Layer make_layer(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t hidden,
                 std::int64_t d) {
  Layer layer;
  layer.shape.query_heads = query_heads;
  layer.shape.kv_heads = kv_heads;
  layer.shape.head_dim = d;
  layer.shape.scale = -0.125F;  // a norm has no sign
  layer.hidden = hidden;
  layer.weights.w_q = random_tensor({query_heads, hidden, d}, 1);
  layer.weights.w_k = random_tensor({kv_heads, hidden, d}, 2);
  return layer;
}

/// A head's projection with every row rotated as the model rotates q or k at `position`.
std::vector<double> rotated(const lab::Tensor& w, std::int64_t head, std::int64_t hidden,
                            std::int64_t d, const std::optional<lab::Rotary>& rotary,
                            double position) {
  const std::vector<double> all = w.to_f64();
  std::vector<double> a(all.begin() + head * hidden * d, all.begin() + (head + 1) * hidden * d);
  for (std::int64_t p = 0; rotary && p < rotary->dims / 2; ++p) {
    const double angle = position * std::pow(rotary->theta, -2.0 * static_cast<double>(p) /
                                                                static_cast<double>(rotary->dims));
    const std::int64_t i = rotary->interleaved ? 2 * p : p;
    const std::int64_t j = rotary->interleaved ? 2 * p + 1 : p + rotary->dims / 2;
    for (std::int64_t h = 0; h < hidden; ++h) {
      double& x = a[static_cast<std::size_t>(h * d + i)];
      double& y = a[static_cast<std::size_t>(h * d + j)];
      const double turned = x * std::cos(angle) - y * std::sin(angle);
      y = x * std::sin(angle) + y * std::cos(angle);
      x = turned;
    }
  }
  return a;
}

struct Plain {
  double squares = 0;  ///< ‖W‖_F² without the scale
  double scale = 0;    ///< ‖A‖_F²·‖B‖_F², an upper bound of it
};

Plain plain_norm(const Layer& layer, std::int64_t head, const std::optional<lab::Rotary>& rotary,
                 std::int64_t i, std::int64_t j) {
  const std::int64_t d = layer.shape.head_dim;
  const std::vector<double> a =
      rotated(layer.weights.w_q, head, layer.hidden, d, rotary, static_cast<double>(i));
  const std::vector<double> b = rotated(layer.weights.w_k, head / layer.shape.group(), layer.hidden,
                                        d, rotary, static_cast<double>(j));
  Plain plain;
  double a_squares = 0;
  double b_squares = 0;
  for (const double x : a) a_squares += x * x;
  for (const double x : b) b_squares += x * x;
  for (std::int64_t g = 0; g < layer.hidden; ++g)
    for (std::int64_t h = 0; h < layer.hidden; ++h) {
      double w = 0;
      for (std::int64_t c = 0; c < d; ++c)
        w += a[static_cast<std::size_t>(g * d + c)] * b[static_cast<std::size_t>(h * d + c)];
      plain.squares += w * w;
    }
  plain.scale = a_squares * b_squares;
  return plain;
}

/// Both computations sum hidden·d² or hidden²·d products. Every rounding is relative to at most
/// ‖A‖²‖B‖², and angles of up to 1000 radians are accurate to 1000 units of the last place.
double tolerance(const Layer& layer, double scale) {
  const auto d = static_cast<double>(layer.shape.head_dim);
  const auto hidden = static_cast<double>(layer.hidden);
  return std::numeric_limits<double>::epsilon() * (2 * hidden + 2 * d * d + d + 4000) * scale;
}

void expect_norms(const Layer& layer, const std::optional<lab::Rotary>& rotary,
                  std::int64_t offsets) {
  const std::vector<lab::WeightNorm> norms =
      lab::weight_norms(layer.weights, layer.shape, rotary, offsets);
  ASSERT_EQ(norms.size(), static_cast<std::size_t>(layer.shape.query_heads));
  const double scale = std::abs(static_cast<double>(layer.shape.scale));
  for (std::int64_t head = 0; head < layer.shape.query_heads; ++head) {
    const lab::WeightNorm& norm = norms[static_cast<std::size_t>(head)];
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    double slack = 0;
    for (std::int64_t offset = 0; offset < offsets; ++offset) {
      // For the pair (i, j) = (offset + 3, 3), since only the difference matters.
      const Plain plain = plain_norm(layer, head, rotary, offset + 3, 3);
      slack = tolerance(layer, plain.scale);
      low = std::min(low, plain.squares);
      high = std::max(high, plain.squares);
      if (offset == 0) {
        EXPECT_NEAR(std::pow(norm.norm / scale, 2), plain.squares, slack) << head;
      }
      if (offset == norm.low_offset) {
        EXPECT_NEAR(std::pow(norm.low / scale, 2), plain.squares, slack) << head;
      }
      if (offset == norm.high_offset) {
        EXPECT_NEAR(std::pow(norm.high / scale, 2), plain.squares, slack) << head;
      }
    }
    EXPECT_NEAR(std::pow(norm.low / scale, 2), low, slack);
    EXPECT_NEAR(std::pow(norm.high / scale, 2), high, slack);
  }
}

TEST(Norms, AreThoseOfTheProductWithoutRotary) {
  const Layer layer = make_layer(4, 2, 24, 6);
  expect_norms(layer, std::nullopt, 1);
  for (const lab::WeightNorm& norm :
       lab::weight_norms(layer.weights, layer.shape, std::nullopt, 1000)) {
    EXPECT_EQ(norm.low, norm.norm);
    EXPECT_EQ(norm.high, norm.norm);
  }
}

TEST(Norms, RangeOverOffsetsIsThatOfTheRotatedProduct) {
  for (const bool interleaved : {false, true})
    for (const std::int64_t dims : {2, 4, 8}) {  // 2 and 4 leave some dimensions unrotated
      SCOPED_TRACE(dims + (interleaved ? 100 : 0));
      expect_norms(make_layer(4, 2, 12, 8), lab::Rotary{100, dims, interleaved}, 40);
    }
}

TEST(Norms, NegativeOffsetsCountWhereQueriesSeeKeysAfterThem) {
  const Layer layer = make_layer(4, 2, 12, 8);
  const lab::Rotary rotary{100, 8, false};
  const auto causal = lab::weight_norms(layer.weights, layer.shape, rotary, 20);
  const auto all = lab::weight_norms(layer.weights, layer.shape, rotary, 20, 2, lab::Offsets::all);
  const double scale = std::abs(static_cast<double>(layer.shape.scale));
  bool negative = false;
  for (std::int64_t head = 0; head < 4; ++head) {
    const lab::WeightNorm& norm = all[static_cast<std::size_t>(head)];
    EXPECT_EQ(norm.norm, causal[static_cast<std::size_t>(head)].norm);
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    double slack = 0;
    for (std::int64_t i = 0; i < 20; ++i)
      for (std::int64_t j = 0; j < 20; ++j) {
        if (i != 0 && j != 0) continue;  // offsets −19 … 19, each once
        const Plain plain = plain_norm(layer, head, rotary, i, j);
        slack = tolerance(layer, plain.scale);
        low = std::min(low, plain.squares);
        high = std::max(high, plain.squares);
      }
    EXPECT_NEAR(std::pow(norm.low / scale, 2), low, slack);
    EXPECT_NEAR(std::pow(norm.high / scale, 2), high, slack);
    negative = negative || norm.low_offset < 0 || norm.high_offset < 0;
  }
  EXPECT_TRUE(negative);
  for (const lab::WeightNorm& norm :
       lab::weight_norms(layer.weights, layer.shape, std::nullopt, 20, 1, lab::Offsets::all))
    EXPECT_EQ(norm.low, norm.high);
}

TEST(Norms, OneDimensionAndOneHeadWork) { expect_norms(make_layer(1, 1, 1, 1), std::nullopt, 1); }

TEST(Norms, DoNotDependOnTheNumberOfThreads) {
  const Layer layer = make_layer(6, 3, 20, 8);
  const lab::Rotary rotary{10000, 8, false};
  const auto one = lab::weight_norms(layer.weights, layer.shape, rotary, 100, 1);
  const auto four = lab::weight_norms(layer.weights, layer.shape, rotary, 100, 4);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].low, four[i].low);
    EXPECT_EQ(one[i].high, four[i].high);
    EXPECT_EQ(one[i].high_offset, four[i].high_offset);
  }
}

TEST(Norms, RefuseWeightsThatDoNotBelongTogether) {
  Layer layer = make_layer(4, 2, 8, 4);
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, std::nullopt, 0), Error);
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, lab::Rotary{100, 3, false}, 1),
               Error);
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, lab::Rotary{100, 6, false}, 1),
               Error);
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, lab::Rotary{0, 4, false}, 1),
               Error);
  layer.shape.kv_heads = 4;
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, std::nullopt, 1), Error);
  EXPECT_THROW((void)lab::weight_norms(lab::LayerWeights{}, layer.shape, std::nullopt, 1), Error);
  layer = make_layer(1, 1, 8, 4);
  const double bad = std::numeric_limits<double>::quiet_NaN();
  std::memcpy(layer.weights.w_q.bytes().data(), &bad, sizeof bad);
  EXPECT_THROW((void)lab::weight_norms(layer.weights, layer.shape, std::nullopt, 1), Error);
}

TEST(Norms, PredictionIsTheNullAtSpreadR) {
  const lab::NormPrediction p = lab::predict_from_norm(2, 0.75, 4096, 0.05);
  EXPECT_EQ(p.R, 3);
  EXPECT_EQ(p.k_eps, lab::gaussian_k_eps(4096, 3, 0.05));
  EXPECT_NEAR(p.exponent, 1 - 9 / (2 * std::log(4096.0)), 1e-15);
  EXPECT_EQ(lab::predict_from_norm(100, 50, 4096, 0.05).exponent, 0);
  EXPECT_LE(lab::predict_from_norm(100, 50, 4096, 0.05).k_eps, 2);
  EXPECT_EQ(lab::predict_from_norm(1, 0, 1, 0.05).exponent, 1);
  EXPECT_THROW((void)lab::predict_from_norm(0, 1, 10, 0.05), Error);
  EXPECT_THROW((void)lab::predict_from_norm(1, -1, 10, 0.05), Error);
}

TEST(Norms, LogitsOfIndependentInputsSpreadByAtMostR) {
  // The bound behind the prediction: if the entries of X are independent, centred and |x| ≤ B, the
  // standard deviation of x_i W x_jᵀ is at most B²‖W‖_F, with equality for ±B.
  const Layer layer = make_layer(1, 1, 16, 4);
  const double norm = lab::weight_norms(layer.weights, layer.shape, std::nullopt, 1)[0].norm;
  const std::vector<double> w_q = layer.weights.w_q.to_f64();
  const std::vector<double> w_k = layer.weights.w_k.to_f64();
  const double bound = 1.5;
  constexpr int pairs = 20000;
  double squares = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const lab::numbers::Stream stream(9, lab::numbers::Purpose::test,
                                      static_cast<std::uint64_t>(pair));
    std::vector<double> q(4);
    std::vector<double> k(4);
    for (std::uint32_t h = 0; h < 16; ++h)
      for (std::size_t c = 0; c < 4; ++c) {
        q[c] += (stream.bits(2 * h) & 1U ? bound : -bound) * w_q[h * 4 + c];
        k[c] += (stream.bits(2 * h + 1) & 1U ? bound : -bound) * w_k[h * 4 + c];
      }
    double logit = 0;
    for (std::size_t c = 0; c < 4; ++c) logit += q[c] * k[c];
    squares += std::pow(logit * static_cast<double>(layer.shape.scale), 2) / pairs;
  }
  // The kurtosis is at most 9 (a bilinear form of signs), so five standard errors of the mean
  // square are 5·√8/√pairs.
  EXPECT_NEAR(squares, std::pow(bound * bound * norm, 2),
              std::pow(bound * bound * norm, 2) * 5 * std::sqrt(8.0 / pairs));
}

}  // namespace
}  // namespace tamis
