#include "attend/check.h"

#include <algorithm>
#include <cmath>

#include "attend/blocks.h"
#include "attend/threads.h"

namespace tamis::cli {
namespace {

/// This many products take about a tenth of a second of f64 arithmetic.
constexpr std::int64_t products_per_block = std::int64_t{1} << 26;

/// The largest error of the measurement itself, as a share of the rounding bound of dense
/// attention in f32. The reference obeys the same bound (docs/rounding.md) with 2⁻⁵³ in place of
/// 2⁻²⁴ and chains of n additions in place of at least n/64, which is less than 2⁻²³ of it. The
/// norms and total-variation distances computed from the reference add fewer than seven chains of
/// n, or of d_v ≤ 1024, additions.
constexpr double measurement_share = 0x1p-20;

double norm(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double distance(std::span<const float> out, std::span<const double> exact) {
  double sum = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double difference = out[c] - exact[c];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace

void measure_outputs(const lab::Trace& trace, const lab::LayerData& data, int threads,
                     Progress& progress, LayerResult& result) {
  const Shape& shape = result.layer.shape;
  const PageTables pages = data.pages();
  const View<const float> q(data.q.data(), shape.rows(), shape.head_dim);
  const View<const float> out(result.out.data(), shape.rows(), shape.value_dim);
  for (auto* measured : {&result.true_error, &result.true_lse_error, &result.exact_norm})
    measured->resize(result.certificates.size());

  const std::int64_t row_products = trace.tokens() * (shape.head_dim + shape.value_dim);
  const std::vector<Block> blocks =
      blocks_of(shape, std::max<std::int64_t>(1, products_per_block / row_products));
  const double pairs = pairs_of(trace, result.layer);
  progress.enter(check_stage);
  on_threads(blocks.size(), threads, [&](std::size_t index) {
    const Block& block = blocks[index];
    const std::int64_t rows = block.shape.rows();
    std::vector<double> exact(static_cast<std::size_t>(rows * shape.value_dim));
    std::vector<double> exact_lse(static_cast<std::size_t>(rows));
    const View<double> exact_out(exact.data(), rows, shape.value_dim);
    reference(block.shape, q.middle_rows(block.row, rows), block.kv(pages.heads()),
              block.seen(trace.seen()), exact_out, exact_lse);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(block.row + i);
      result.true_error[row] = distance(out.row(block.row + i), exact_out.row(i));
      result.true_lse_error[row] =
          std::abs(result.lse[row] - exact_lse[static_cast<std::size_t>(i)]);
      result.exact_norm[row] = norm(exact_out.row(i));
    }
    progress.advance(pairs * static_cast<double>(rows) / static_cast<double>(shape.rows()));
  });
}

void count_violations(const lab::Trace& trace, const lab::LayerData& data, LayerResult& result) {
  const Shape& shape = result.layer.shape;
  std::vector<Rounding> roundings(static_cast<std::size_t>(shape.rows()));
  dense_rounding(shape, {data.q.data(), shape.rows(), shape.head_dim}, data.pages().heads(),
                 trace.seen(), roundings);
  for (std::size_t row = 0; row < result.certificates.size(); ++row) {
    const Certificate& claimed = result.certificates[row];
    const Rounding& rounding = roundings[row];
    // The comparison is written so that a NaN on either side is a violation.
    const auto holds = [](double truth, double bound, double rounded) {
      return truth <= bound + measurement_share * rounded;
    };
    const bool claims_nothing = claimed.reached == Reached::not_finite && std::isinf(claimed.error);
    const bool all_hold = holds(result.true_error[row], claimed.error, rounding.error) &&
                          holds(result.true_lse_error[row], claimed.lse_error, rounding.lse) &&
                          claimed.tau >= 0;
    if (!claims_nothing && !all_hold) ++result.violations;
  }
}

}  // namespace tamis::cli
