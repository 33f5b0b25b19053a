#include "lab/stats/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tamis::lab::stats {
namespace {

/// Returns y minus its projection on 1, x, x², x³, by Gram–Schmidt, with each step done twice
/// to limit cancellation.
std::vector<double> cubic_residuals(const Series& series) {
  const std::size_t rows = series.size();
  const double middle = 0.5 * (series.x.front() + series.x.back());
  const double half = std::max(0.5 * (series.x.back() - series.x.front()), 1e-300);
  std::vector<std::vector<double>> basis;
  const auto project_out = [&](std::vector<double>& v) {
    for (int twice = 0; twice < 2; ++twice)
      for (const std::vector<double>& b : basis) {
        const double share = std::inner_product(v.begin(), v.end(), b.begin(), 0.0);
        for (std::size_t i = 0; i < rows; ++i) v[i] -= share * b[i];
      }
  };
  std::vector<double> power(rows, 1.0);
  for (int degree = 0; degree < 4; ++degree) {
    std::vector<double> v = power;
    project_out(v);
    const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    if (norm < 1e-9 * std::sqrt(static_cast<double>(rows))) break;  // fewer lengths than degrees
    for (double& entry : v) entry /= norm;
    basis.push_back(std::move(v));
    for (std::size_t i = 0; i < rows; ++i) power[i] *= (series.x[i] - middle) / half;
  }
  std::vector<double> residuals = series.y;
  project_out(residuals);
  return residuals;
}

std::vector<double> autocorrelations(const std::vector<double>& e, std::size_t lags) {
  std::vector<double> result(lags + 1);
  const double square = std::inner_product(e.begin(), e.end(), e.begin(), 0.0);
  if (!(square > 0)) return result;
  for (std::size_t lag = 0; lag <= lags; ++lag)
    result[lag] =
        std::inner_product(e.begin() + static_cast<std::ptrdiff_t>(lag), e.end(), e.begin(), 0.0) /
        square;
  return result;
}

/// 1 + 2·Σ over lags below `block` of (1 − lag/block)·rho^lag: the inflation that sums over blocks
/// of autoregressive noise account for.
double seen_by_block(double rho, std::int64_t block) {
  double sum = 0;
  double power = rho;
  for (std::int64_t lag = 1; lag < block; ++lag, power *= rho)
    sum += (1 - static_cast<double>(lag) / static_cast<double>(block)) * power;
  return 1 + 2 * sum;
}

/// Politis and White's estimate: correlations count up to the last significant lag, which is
/// followed by five insignificant ones, with a window that is flat up to there and falls to zero
/// at twice that lag. Returns the inflation and the first moment Σ lag·rho, both over positive
/// and negative lags.
struct Spectrum {
  double inflation = 1;
  double moment = 0;
};
Spectrum flat_top(const std::vector<double>& rho, std::size_t rows) {
  const double bound =
      2 * std::sqrt(std::log10(static_cast<double>(rows)) / static_cast<double>(rows));
  constexpr std::size_t quiet = 5;
  std::size_t last = 0;
  for (std::size_t lag = 1; lag < rho.size() && lag <= last + quiet; ++lag)
    if (std::abs(rho[lag]) >= bound) last = lag;
  Spectrum result;
  for (std::size_t lag = 1; lag < std::min(rho.size(), 2 * last); ++lag) {
    const double place = static_cast<double>(lag) / static_cast<double>(2 * last);
    const double weight = std::min(1.0, 2 * (1 - place));
    result.inflation += 2 * weight * rho[lag];
    result.moment += 2 * weight * static_cast<double>(lag) * rho[lag];
  }
  return result;
}

}  // namespace

Series make_series(std::span<const double> n, std::span<const double> k_eps) {
  std::vector<std::size_t> order(n.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return n[a] < n[b]; });
  Series series;
  for (const std::size_t i : order) {
    series.n.push_back(n[i]);
    series.x.push_back(std::log(n[i]));
    series.y.push_back(std::log(k_eps[i]));
  }
  return series;
}

Line least_squares(std::span<const double> x, std::span<const double> y) {
  const double rows = static_cast<double>(x.size());
  Line line;
  line.mean_x = std::accumulate(x.begin(), x.end(), 0.0) / rows;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / rows;
  double sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.sxx += (x[i] - line.mean_x) * (x[i] - line.mean_x);
    sxy += (x[i] - line.mean_x) * (y[i] - mean_y);
  }
  line.slope = line.sxx > 0 ? sxy / line.sxx : 0;
  line.intercept = mean_y - line.slope * line.mean_x;
  return line;
}

Dependence dependence(const Series& series) {
  const std::size_t rows = series.size();
  const double count = static_cast<double>(rows);
  const std::vector<double> e = cubic_residuals(series);
  const std::vector<double> rho = autocorrelations(e, std::min<std::size_t>(rows / 4, 64));

  Dependence result;
  // Removing four smooth components from the noise removes (1 + rho)/(1 − rho) rows' worth of
  // variance with each, which lowers the correlation by 4(1 + rho)/rows. The estimate's own
  // bias is 2·rho/rows.
  const double raw = rho.size() > 1 ? rho[1] : 0;
  const double corrected = raw + (4 * (1 + raw) + 2 * raw) / count;
  result.autocorrelation = std::clamp(corrected, 0.0, 0.95);
  const double r = result.autocorrelation;
  const double autoregressive = (1 + r) / (1 - r);
  const Spectrum spectrum = flat_top(rho, rows);
  // The autoregressive estimate detects weak dependence that the spectrum cuts off; the spectrum
  // detects dependence over longer distances.
  result.inflation = std::clamp(std::max(autoregressive, spectrum.inflation), 1.0, count / 8);

  // The length of blocks that minimises the mean squared error of the variance of a mean (Politis
  // and White, circular blocks): (3/2·(moment/inflation)²·rows)^(1/3), and never below rows^(1/3).
  const double moment =
      std::max(spectrum.moment / std::max(spectrum.inflation, 1.0), 2 * r / (1 - r * r));
  const double best = std::cbrt(std::max(1.0, 1.5 * moment * moment) * count);
  result.block =
      std::clamp<std::int64_t>(std::llround(std::ceil(best)), 1,
                               std::max<std::int64_t>(1, static_cast<std::int64_t>(rows / 8)));
  result.shortfall = autoregressive / seen_by_block(r, result.block);
  return result;
}

}  // namespace tamis::lab::stats
