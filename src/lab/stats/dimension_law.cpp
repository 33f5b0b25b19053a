#include "lab/stats/dimension_law.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/fail.h"
#include "lab/stats/special.h"

namespace tamis::lab::stats {
namespace {

double confined_measure(double n, double d) { return 1 / (2 / d - 1 / n); }

/// Sums for a weighted straight-line fit of `z` over log n.
struct Line {
  double w = 0, x = 0, z = 0, xx = 0, xz = 0;
  void add(double weight, double log_n, double value) {
    w += weight;
    x += weight * log_n;
    z += weight * value;
    xx += weight * log_n * log_n;
    xz += weight * log_n * value;
  }
  [[nodiscard]] double slope() const { return (w * xz - x * z) / (w * xx - x * x); }
  [[nodiscard]] double intercept() const { return (z - slope() * x) / w; }
};

/// Sets initial parameters for the search: a straight line through a transformed d.
void start(DimensionFit& fit, const std::vector<DimensionPoint>& points) {
  Line line;
  for (const DimensionPoint& p : points) {
    double z = p.d;
    if (fit.law == DimensionLaw::power) z = std::log(p.d);
    if (fit.law == DimensionLaw::confined) z = confined_measure(p.n, p.d);
    line.add(1, std::log(p.n), z);
  }
  fit.v = line.slope();
  fit.u = fit.law == DimensionLaw::power ? std::exp(line.intercept()) : line.intercept();
}

double chi2_of(const DimensionFit& fit, const std::vector<DimensionPoint>& points) {
  double sum = 0;
  for (const DimensionPoint& p : points) {
    const double miss = (p.d - fit.at(p.n)) / p.sd;
    sum += miss * miss;
  }
  return sum;
}

}  // namespace

std::string_view name_of(DimensionLaw law) {
  switch (law) {
    case DimensionLaw::logarithmic:
      return "log";
    case DimensionLaw::power:
      return "power";
    case DimensionLaw::confined:
      return "confined log";
  }
  return "";
}

double dimension_at(DimensionLaw law, double u, double v, double n) {
  switch (law) {
    case DimensionLaw::logarithmic:
      return u + v * std::log(n);
    case DimensionLaw::power:
      return u * std::pow(n, v);
    case DimensionLaw::confined:
      return 2 / (1 / (u + v * std::log(n)) + 1 / n);
  }
  return 0;
}

double DimensionFit::half_width() const {
  return student_quantile(static_cast<double>(degrees), 0.95) * sd_v;
}

bool much_likelier(const DimensionFit& fit, const DimensionFit& than) {
  return fit.chi2 + 2 * std::log(20.0) < than.chi2;
}

DimensionFit fit_dimension(DimensionLaw law, const std::vector<DimensionPoint>& points) {
  std::set<double> lengths;
  for (const DimensionPoint& p : points) {
    if (!(p.n > 1 && p.d > 0 && p.d < 2 * p.n && p.sd > 0))
      core::fail(Code::usage, "a law of d over n was asked through n = {}, d = {} of deviation {}",
                 p.n, p.d, p.sd);
    lengths.insert(p.n);
  }
  if (lengths.size() < 3)
    core::fail(Code::usage, "a law of d over n was asked through {} different n; give at least 3",
               lengths.size());
  DimensionFit fit;
  fit.law = law;
  start(fit, points);
  fit.chi2 = chi2_of(fit, points);
  // Gauss–Newton steps, each halved until it reduces chi2.
  double uu = 0, uv = 0, vv = 0;
  for (int round = 0; round < 100; ++round) {
    double gu = 0, gv = 0;
    uu = uv = vv = 0;
    for (const DimensionPoint& p : points) {
      const double w = 1 / (p.sd * p.sd);
      const double hu = 1e-6 * (std::abs(fit.u) + 1e-3);
      const double hv = 1e-6 * (std::abs(fit.v) + 1e-3);
      const double du =
          (dimension_at(law, fit.u + hu, fit.v, p.n) - dimension_at(law, fit.u - hu, fit.v, p.n)) /
          (2 * hu);
      const double dv =
          (dimension_at(law, fit.u, fit.v + hv, p.n) - dimension_at(law, fit.u, fit.v - hv, p.n)) /
          (2 * hv);
      const double miss = p.d - fit.at(p.n);
      gu += w * du * miss;
      gv += w * dv * miss;
      uu += w * du * du;
      uv += w * du * dv;
      vv += w * dv * dv;
    }
    const double det = uu * vv - uv * uv;
    bool better = false;
    for (double size = 1; size > 1e-9 && !better; size /= 2) {
      DimensionFit next = fit;
      next.u += size * (vv * gu - uv * gv) / det;
      next.v += size * (uu * gv - uv * gu) / det;
      next.chi2 = chi2_of(next, points);
      better = next.chi2 < fit.chi2;
      if (better) fit = next;
    }
    if (!better) break;
  }
  fit.degrees = static_cast<std::int64_t>(points.size()) - 2;
  const double each = fit.chi2 / static_cast<double>(fit.degrees);
  fit.sd_v = std::sqrt(uu / (uu * vv - uv * uv) * std::max(1.0, each));
  fit.p_value = chi_squared_tail(static_cast<double>(fit.degrees), fit.chi2);
  return fit;
}

}  // namespace tamis::lab::stats
