// Decides which law a head follows. Every law of the table is fitted by least squares on log
// k_eps; one is chosen by posterior probability and tested for lack of fit; C gets a confidence
// interval. docs/laws.md has the reasons.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <tamis/lab/law.h>

#include "core/fail.h"
#include "lab/profile/laws.h"
#include "lab/stats/bootstrap.h"
#include "lab/stats/evidence.h"
#include "lab/stats/lack_of_fit.h"
#include "lab/stats/series.h"

namespace tamis::lab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t fewest_rows = 24;  ///< three bins of eight
constexpr double least_range = 2;         ///< longest row divided by shortest

void check(const LawRows& rows, const LawOptions& options) {
  if (rows.k_eps.size() != rows.n.size())
    core::fail(Code::usage, "{} rows have n and {} have k_eps; every row needs both", rows.n.size(),
               rows.k_eps.size());
  if (!rows.sigma.empty() && rows.sigma.size() != rows.n.size())
    core::fail(Code::usage,
               "{} rows have n and {} have sigma; give sigma for every row or for none",
               rows.n.size(), rows.sigma.size());
  for (std::size_t i = 0; i < rows.n.size(); ++i) {
    const double n = rows.n[i];
    const double k = rows.k_eps[i];
    if (!(n >= 1) || !std::isfinite(n))
      core::fail(Code::usage, "row {} sees n = {} keys; it must see at least 1", i, n);
    if (!(k >= 1 && k <= n))
      core::fail(Code::usage, "row {} has k_eps = {}; it must lie in 1 … n = {}", i, k, n);
    if (!rows.sigma.empty() && !(rows.sigma[i] >= 0 && std::isfinite(rows.sigma[i])))
      core::fail(Code::usage, "row {} has sigma = {}; it must be finite and not negative", i,
                 rows.sigma[i]);
  }
  if (!(options.confidence > 0 && options.confidence < 1))
    core::fail(Code::usage, "confidence = {} of the interval for C; it must lie between 0 and 1",
               options.confidence);
  if (!(options.significance >= 0 && options.significance < 1))
    core::fail(Code::usage,
               "significance = {} of the lack of fit; it must be at least 0 and below 1",
               options.significance);
  if (!(options.material >= 0))
    core::fail(Code::usage, "material = {}; it must not be negative", options.material);
  if (options.resamples < 99 || options.resamples > 1'000'000)
    core::fail(Code::usage, "{} resamples; there must be 99 to 1000000", options.resamples);
}

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                   values.end());
  if (values.size() % 2 == 1) return values[half];
  return 0.5 *
         (values[half] +
          *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)));
}

/// One fitted law and its residuals, whose mean, log alpha, has been subtracted.
struct Fitted {
  LawScore score;
  std::vector<double> residuals;
};

Fitted fit_one(const profiling::LawEntry& entry, const stats::Series& series,
               const stats::Line& line, double sigma, double rounding, double effective_rows,
               const GaussianNull& null) {
  Fitted fitted;
  fitted.residuals = series.y;
  for (std::size_t i = 0; i < series.size(); ++i)
    fitted.residuals[i] -= entry.log_shape(series.n[i], line.slope, sigma, null);
  const double count = static_cast<double>(series.size());
  const double mean =
      std::accumulate(fitted.residuals.begin(), fitted.residuals.end(), 0.0) / count;
  double squares = 0;
  for (double& e : fitted.residuals) {
    e -= mean;
    squares += e * e;
  }
  fitted.score.law = entry.law;
  fitted.score.alpha = std::exp(mean);
  fitted.score.residual_sd = std::sqrt(squares / (count - entry.parameters));
  fitted.score.log_evidence =
      entry.law == Law::power
          ? stats::log_evidence_power(squares + rounding, line.sxx, line.slope, effective_rows)
          : stats::log_evidence(squares + rounding, effective_rows);
  return fitted;
}

const profiling::LawEntry* entry_of(Law law) {
  const auto* const found =
      std::find_if(profiling::law_table.begin(), profiling::law_table.end(),
                   [&](const profiling::LawEntry& e) { return e.law == law; });
  return found == profiling::law_table.end() ? nullptr : found;
}

void set_probabilities(std::vector<Fitted>& laws) {
  double most = -std::numeric_limits<double>::infinity();
  for (const Fitted& f : laws) most = std::max(most, f.score.log_evidence);
  double sum = 0;
  for (Fitted& f : laws) {
    f.score.probability = entry_of(f.score.law)->prior * std::exp(f.score.log_evidence - most);
    sum += f.score.probability;
  }
  for (Fitted& f : laws) f.score.probability /= sum;
  std::stable_sort(laws.begin(), laws.end(), [](const Fitted& a, const Fitted& b) {
    return a.score.probability > b.score.probability;
  });
}

/// Fills in what is reported for every head, whether or not a law can be fitted.
LawFit describe(const LawRows& rows) {
  LawFit fit;
  fit.rows = static_cast<std::int64_t>(rows.n.size());
  fit.n_low = fit.n_high = fit.k_median = fit.alpha = fit.C = fit.C_low = fit.C_high = fit.sigma =
      nan;
  fit.residual_sd = fit.lack_of_fit = fit.p_value = fit.autocorrelation = fit.effective_rows = nan;
  if (rows.n.empty()) return fit;
  const auto [low, high] = std::minmax_element(rows.n.begin(), rows.n.end());
  fit.n_low = *low;
  fit.n_high = *high;
  fit.k_median = median({rows.k_eps.begin(), rows.k_eps.end()});
  if (!rows.sigma.empty()) fit.sigma = median({rows.sigma.begin(), rows.sigma.end()});
  double log_sum = 0;
  for (const double k : rows.k_eps) log_sum += std::log(k);
  fit.alpha = std::exp(log_sum / static_cast<double>(fit.rows));
  return fit;
}

/// Returns why no law can be fitted to these rows, or an empty string if one can.
std::string obstacle(const LawFit& fit) {
  if (fit.rows < fewest_rows)
    return fmt::format("{} rows; a law needs at least {}", fit.rows, fewest_rows);
  if (fit.n_low == fit.n_high)
    return fmt::format("all rows see n = {} keys; a law needs different lengths", fit.n_low);
  if (fit.n_high < least_range * fit.n_low)
    return fmt::format("rows see n = {} to {} keys; a law needs a factor of at least {}", fit.n_low,
                       fit.n_high, least_range);
  return {};
}

}  // namespace

std::string_view name_of(Law law) {
  const profiling::LawEntry* const entry = entry_of(law);
  return entry == nullptr ? "none" : entry->name;
}

LawFit fit_law(const LawRows& rows, const GaussianNull& null, const LawOptions& options) {
  check(rows, options);
  LawFit fit = describe(rows);
  fit.reason = obstacle(fit);
  if (!fit.reason.empty()) return fit;

  const stats::Series series = stats::make_series(rows.n, rows.k_eps);
  const stats::Line line = stats::least_squares(series.x, series.y);
  const stats::Dependence noise = stats::dependence(series);
  const double count = static_cast<double>(fit.rows);
  fit.autocorrelation = noise.autocorrelation;
  fit.effective_rows = count / noise.inflation;
  fit.block = noise.block;
  fit.C = line.slope;
  const stats::ConfidenceInterval interval = stats::exponent_interval(
      series, line, noise, options.confidence, options.resamples, options.seed);
  fit.C_low = interval.low;
  fit.C_high = interval.high;

  // k_eps is an integer, so its logarithm is known only to within a rounding error
  // of variance 1/(12·k²).
  double rounding = 0;
  for (const double k : rows.k_eps) rounding += 1 / (12 * k * k);
  std::vector<Fitted> laws;
  for (const profiling::LawEntry& entry : profiling::law_table)
    if (!entry.needs_sigma || !rows.sigma.empty())
      laws.push_back(fit_one(entry, series, line, fit.sigma, rounding, fit.effective_rows, null));
  set_probabilities(laws);
  for (const Fitted& law : laws) fit.scores.push_back(law.score);

  const auto at_floor = std::count(rows.k_eps.begin(), rows.k_eps.end(), 1.0);
  const bool flat = 2 * at_floor > fit.rows;
  const auto chosen =
      flat ? std::find_if(laws.begin(), laws.end(),
                          [](const Fitted& f) { return f.score.law == Law::constant; })
           : laws.begin();
  fit.law = fit.best = chosen->score.law;
  fit.alpha = chosen->score.alpha;
  fit.residual_sd = chosen->score.residual_sd;
  const stats::LackOfFit misfit =
      stats::lack_of_fit(chosen->residuals, entry_of(fit.best)->parameters, noise.inflation);
  fit.lack_of_fit = misfit.size;
  fit.p_value = misfit.p_value;
  if (flat) {
    fit.reason = fmt::format("k_eps is 1 in {:.0f} % of the rows, its least value: constant",
                             100 * static_cast<double>(at_floor) / count);
  } else if (misfit.p_value < options.significance && misfit.size >= options.material) {
    fit.law = Law::none;
    fit.reason = fmt::format(
        "{}, the most probable law, misses k_eps by a factor of {:.2f} over lengths (p = {:.1g})",
        name_of(fit.best), std::exp(misfit.size), misfit.p_value);
  }
  return fit;
}

double predicted_k_eps(const LawFit& fit, const GaussianNull& null, double n) {
  const profiling::LawEntry* const entry = entry_of(fit.best);
  if (entry == nullptr) return nan;
  if (!(n >= 1))
    core::fail(Code::usage, "a law was asked for n = {} keys; there must be at least 1", n);
  return std::clamp(fit.alpha * std::exp(entry->log_shape(n, fit.C, fit.sigma, null)), 1.0, n);
}

}  // namespace tamis::lab
