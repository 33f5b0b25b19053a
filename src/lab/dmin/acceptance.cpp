// Fits p(d) as a two-parameter curve. It counts at d where draws are accepted readily, p ≥ 1/100,
// which takes 1/p draws for each accepted one, whereas a search needs p ≈ 1/n. The cost is a few
// hundred accepted draws, n·d²/4 operations each. Here d is the paper's: d = 2m.
#include <algorithm>
#include <cmath>

#include <tamis/lab/dmin.h>

#include "core/fail.h"
#include "lab/dmin/grid.h"
#include "lab/realise/jl/search.h"
#include "lab/stats/special.h"

namespace tamis::lab {
namespace {

/// y = 1/(1/m − 1/n), m = d/2: the inverse of the variance of projected entries, up to a factor.
double spread_of(double d, double n) { return 1 / (2 / d - 1 / n); }

/// The curve in the variable x = y − centre, which makes its coefficients nearly uncorrelated.
struct CentredFit {
  double a = 0, b = 0, centre = 0;
  double aa = 0, ab = 0, bb = 0;  // Fisher information; its inverse after the fit

  [[nodiscard]] double failures(double y) const {
    return std::exp(a - b * (y - centre) - 0.5 * std::log(y));
  }
};

/// The logarithm of p^yes·(1 − p)^no for p = e^−λ.
double log_likelihood(double lambda, double yes, double no) {
  double sum = -lambda * yes;
  if (no > 0) sum += no * std::log(-std::expm1(-lambda));
  return sum;
}

double log_likelihood(const CentredFit& fit, const std::vector<Acceptance>& counts, double n) {
  double sum = 0;
  for (const Acceptance& c : counts)
    sum +=
        log_likelihood(fit.failures(spread_of(static_cast<double>(c.d), n)),
                       static_cast<double>(c.accepted), static_cast<double>(c.draws - c.accepted));
  return sum;
}

/// The maximum-likelihood fit, by Fisher's scoring with step halving. The start is right up to
/// noise.
CentredFit most_likely(const std::vector<Acceptance>& counts, double n) {
  CentredFit fit;
  double weight = 0;
  for (const Acceptance& c : counts) {
    fit.centre += spread_of(static_cast<double>(c.d), n) * static_cast<double>(c.accepted);
    weight += static_cast<double>(c.accepted);
  }
  fit.centre /= weight;
  fit.a = 0.5 * std::log(fit.centre);
  fit.b = std::log(n) / fit.centre;
  double now = log_likelihood(fit, counts, n);
  for (int round = 0; round < 200; ++round) {
    double ga = 0, gb = 0;
    fit.aa = fit.ab = fit.bb = 0;
    for (const Acceptance& c : counts) {
      const double y = spread_of(static_cast<double>(c.d), n);
      const double lambda = fit.failures(y);
      const double odds = 1 / std::expm1(lambda);  // p/(1 − p)
      const auto draws = static_cast<double>(c.draws);
      const auto yes = static_cast<double>(c.accepted);
      const double g = lambda * ((draws - yes) * odds - yes);
      const double w = draws * lambda * lambda * odds;
      const double x = fit.centre - y;  // ∂ log λ/∂b
      ga += g;
      gb += g * x;
      fit.aa += w;
      fit.ab += w * x;
      fit.bb += w * x * x;
    }
    const double det = fit.aa * fit.bb - fit.ab * fit.ab;
    if (!(det > 0)) core::fail(Code::input, "the draws at n = {} do not determine a curve", n);
    const double da = (fit.bb * ga - fit.ab * gb) / det;
    const double db = (fit.aa * gb - fit.ab * ga) / det;
    double size = 1;
    CentredFit next = fit;
    double then = now;
    while (size > 1e-6) {
      next.a = fit.a + size * da;
      next.b = fit.b + size * db;
      then = log_likelihood(next, counts, n);
      if (then >= now) break;
      size /= 2;
    }
    const bool ends = then - now < 1e-12 * std::abs(now);
    if (then >= now) {
      fit.a = next.a;
      fit.b = next.b;
      now = then;
    }
    if (ends) break;
  }
  const double det = fit.aa * fit.bb - fit.ab * fit.ab;
  const double aa = fit.bb / det, bb = fit.aa / det, ab = -fit.ab / det;
  fit.aa = aa;
  fit.bb = bb;
  fit.ab = ab;
  return fit;
}

/// Draws of one pattern at any d, numbered from 0 at every d.
class Slope {
 public:
  Slope(const realisation::JlTarget& target, std::uint64_t seed,
        const AcceptanceFitOptions& options, const ProgressCallback& progress)
      : search_(target, seed, numbers::Purpose::dmin, options.threads),
        progress_(progress),
        accepted_(options.accepted),
        most_(static_cast<std::int64_t>(
            std::ceil(static_cast<double>(options.accepted) / options.least))) {}

  /// Whether one of the first draws is accepted.
  bool rises(std::int64_t d) { return search_.any(d / 2, {0, first_draws}, told()); }

  /// Counts draws in lots of fixed size until enough are accepted or enough are made. The draws
  /// that `rises` used to choose d are not counted.
  Acceptance count(std::int64_t d) {
    Acceptance seen{d, 0, 0};
    while (seen.accepted < accepted_ && seen.draws < most_) {
      const std::int64_t lot = std::min(2 * accepted_, most_ - seen.draws);
      seen.accepted += search_.count(d / 2, {first_draws + seen.draws, lot}, told());
      seen.draws += lot;
    }
    return seen;
  }
  [[nodiscard]] bool below(const Acceptance& seen) const { return seen.accepted < accepted_; }

 private:
  static constexpr std::int64_t first_draws = 4;

  ProgressCallback told() {
    if (!progress_) return {};
    return [this](double, double) { return progress_(0, 1); };  // only to be stopped
  }

  realisation::JlSearch search_;
  const ProgressCallback& progress_;
  std::int64_t accepted_;
  std::int64_t most_;
};

/// The d, a multiple of the step, where draws begin to be accepted.
std::int64_t bisect(Slope& slope, const dmin::DminGrid& grid) {
  std::int64_t low = -1;  // index of a d where none was accepted
  std::int64_t high = grid.size() - 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (slope.rises(grid.at(middle)) ? high : low) = middle;
  }
  return grid.at(high);
}

/// The distance in d over which log λ falls by about 0.4. It uses that b·y is about log n where few
/// rows fail.
std::int64_t stride_of(std::int64_t d, std::int64_t n, std::int64_t step) {
  const double m = 0.5 * static_cast<double>(d);
  const auto N = static_cast<double>(n);
  const double stride = 0.4 * 2 * m * std::max(1.0, N - m) / (N * std::log(N));
  return std::max<std::int64_t>(
      2, 2 * std::llround(std::min(stride, static_cast<double>(16 * step)) / 2));
}

}  // namespace

double AcceptanceFit::probability(double d) const {
  const double y = spread_of(d, static_cast<double>(n));
  return std::exp(-std::exp(a - b * y - 0.5 * std::log(y)));
}

AcceptanceFit fit_acceptance(const Pattern& pattern, const Conditions& conditions,
                             std::uint64_t seed, const AcceptanceFitOptions& options,
                             const ProgressCallback& progress) {
  if (options.accepted < 1 || !(options.least > 0 && options.least <= 0.5))
    core::fail(
        Code::usage,
        "a curve of {} accepted draws down to p = {} was asked for; give at least 1, and 0 to 0.5",
        options.accepted, options.least);
  const realisation::JlTarget target = realisation::jl_target(pattern, conditions);
  const dmin::DminGrid grid = dmin::dmin_grid(target.n, options.step, 0);
  Slope slope(target, seed, options, progress);
  const std::int64_t middle = bisect(slope, grid);
  const std::int64_t stride = stride_of(middle, target.n, options.step);

  AcceptanceFit fit;
  fit.n = target.n;
  // Go down until draws are accepted too seldom, then up until nearly all are.
  for (std::int64_t d = middle; d >= 2; d -= stride) {
    fit.counts.insert(fit.counts.begin(), slope.count(d));
    if (slope.below(fit.counts.front())) break;
  }
  for (std::int64_t d = middle + stride; d < 2 * target.n; d += stride) {
    const Acceptance& last = fit.counts.back();
    if (4 * last.accepted > 3 * last.draws) break;
    fit.counts.push_back(slope.count(d));
  }
  const auto mixed = std::ranges::count_if(
      fit.counts, [](const Acceptance& c) { return c.accepted > 0 && c.accepted < c.draws; });
  if (mixed < 3)
    core::fail(Code::input,
               "at n = {} only {} dimensions lie where draws begin to be accepted; search instead",
               target.n, mixed);

  const auto n = static_cast<double>(target.n);
  const CentredFit likeliest = most_likely(fit.counts, n);
  const double c = likeliest.centre;  // fit.a belongs to y = 0, likeliest.a to y = centre
  fit.a = likeliest.a + likeliest.b * c;
  fit.b = likeliest.b;
  fit.var_b = likeliest.bb;
  fit.cov_ab = likeliest.ab + c * likeliest.bb;
  fit.var_a = likeliest.aa + 2 * c * likeliest.ab + c * c * likeliest.bb;
  for (const Acceptance& seen : fit.counts) {
    const auto yes = static_cast<double>(seen.accepted);
    const auto draws = static_cast<double>(seen.draws);
    double best = 0;  // log likelihood if p is the observed share, with 0^0 = 1
    if (yes > 0 && yes < draws)
      best = yes * std::log(yes / draws) + (draws - yes) * std::log1p(-yes / draws);
    const double lambda = likeliest.failures(spread_of(static_cast<double>(seen.d), n));
    fit.deviance += 2 * (best - log_likelihood(lambda, yes, draws - yes));
  }
  fit.degrees = static_cast<std::int64_t>(fit.counts.size()) - 2;
  fit.p_value = stats::chi_squared_tail(static_cast<double>(fit.degrees), fit.deviance);
  return fit;
}

DminMedian dmin_median(const AcceptanceFit& fit, double Q, std::int64_t step) {
  const dmin::DminGrid grid = dmin::dmin_grid(fit.n, step, 0);
  const auto draws = static_cast<double>(dmin::draws_of(Q, fit.n));
  // Finds where −log P(D > d) = −N·Σ log(1 − p(d')) over d' ≤ d passes log 2.
  const auto passes = [&](double a, double b, std::int64_t& at) {
    AcceptanceFit moved = fit;
    moved.a = a;
    moved.b = b;
    double before = 0;
    for (std::int64_t i = 0; i < grid.size(); ++i) {
      const std::int64_t d = grid.at(i);
      // At d = 2n the projection is the identity.
      const double p = d >= 2 * fit.n ? 1 : moved.probability(static_cast<double>(d));
      const double sum = p < 1 ? before - draws * std::log1p(-p) : before + 1e3;
      if (sum >= std::log(2.0)) {
        at = d;
        // The logarithm of the sum is nearly straight between two d of the grid.
        const double share =
            before > 0 ? std::log(std::log(2.0) / before) / std::log(sum / before) : 1;
        return static_cast<double>(d) - (1 - share) * static_cast<double>(step);
      }
      before = sum;
    }
    at = grid.at(grid.size() - 1);
    return static_cast<double>(at);
  };
  DminMedian median;
  median.between = passes(fit.a, fit.b, median.d);
  // Two independent directions: b by one standard deviation with a following it, and a by its
  // remaining standard deviation with b fixed.
  std::int64_t ignored = 0;
  // Change of a for a change of b.
  const double slope = fit.var_b > 0 ? fit.cov_ab / fit.var_b : 0;
  const double sd_b = std::sqrt(fit.var_b);
  const double sd_a = std::sqrt(std::max(0.0, fit.var_a - slope * fit.cov_ab));
  const double by_b = 0.5 * (passes(fit.a + slope * sd_b, fit.b + sd_b, ignored) -
                             passes(fit.a - slope * sd_b, fit.b - sd_b, ignored));
  const double by_a =
      0.5 * (passes(fit.a + sd_a, fit.b, ignored) - passes(fit.a - sd_a, fit.b, ignored));
  median.deviation = std::hypot(by_a, by_b);
  return median;
}

}  // namespace tamis::lab
