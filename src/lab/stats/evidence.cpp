#include "lab/stats/evidence.h"

#include <algorithm>
#include <cmath>

namespace tamis::lab::stats {

double log_evidence(double squares, double rows) { return -0.5 * (rows - 1) * std::log(squares); }

double log_evidence_power(double squares, double sxx, double slope, double rows) {
  // Substituting C = slope + w·tan θ with w² = squares/sxx turns S(C) into squares/cos²θ and the
  // integral into squares^{−(rows−1)/2}·w·∫ cos^{rows−3} θ dθ.
  const double width = std::sqrt(squares / sxx);
  double from = std::atan((0 - slope) / width);
  double to = std::atan((1 - slope) / width);
  const double power = rows - 3;
  // `peak` is where the integrand is largest; from there it falls as e^{−power·(θ tan θ + θ²/2)}.
  const double peak = std::clamp(0.0, from, to);
  const double steep = power * std::abs(std::tan(peak));
  const double reach = 40 / (std::sqrt(power) + steep);
  from = std::max(from, peak - reach);
  to = std::min(to, peak + reach);
  constexpr int intervals = 512;
  const double step = (to - from) / intervals;
  const double top = std::log(std::cos(peak));
  double sum = 0;
  for (int i = 0; i <= intervals; ++i) {  // Simpson's rule
    const double weight = i == 0 || i == intervals ? 1 : i % 2 == 0 ? 2 : 4;
    sum += weight * std::exp(power * (std::log(std::cos(from + step * i)) - top));
  }
  return log_evidence(squares, rows) + std::log(width) + power * top + std::log(sum * step / 3);
}

}  // namespace tamis::lab::stats
