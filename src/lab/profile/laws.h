// The table of laws. A law is alpha·shape(n), fitted as log k_eps = log alpha + log
// shape(n) + noise.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include <tamis/lab/law.h>

namespace tamis::lab::profiling {

struct LawEntry {
  Law law;
  std::string_view name;
  int parameters;  ///< alpha, and C for the power law
  double prior;    ///< prior probability, relative to the other laws
  bool needs_sigma;
  /// log shape(n). Only the power law uses C, only the gaussian law sigma.
  double (*log_shape)(double n, double C, double sigma, const GaussianNull& null);
};

/// HACKING.md says what else a new law needs. The power law is the only one with a second
/// parameter; its C has the uniform prior on 0 … 1. Constant and log n, which the noise of real
/// heads hardly distinguishes, share the prior of one law.
inline constexpr std::array<LawEntry, 5> law_table{{
    {Law::constant, "constant", 1, 0.5, false,
     [](double, double, double, const GaussianNull&) { return 0.0; }},
    {Law::logarithmic, "log", 1, 0.5, false,
     // log n is 0 at n = 1, where k_eps is always 1. log(1 + n) exceeds log n by about 1/n.
     [](double n, double, double, const GaussianNull&) { return std::log(std::log1p(n)); }},
    {Law::power, "power", 2, 1, false,
     [](double n, double C, double, const GaussianNull&) { return C * std::log(n); }},
    {Law::linear, "linear", 1, 1, false,
     [](double n, double, double, const GaussianNull&) { return std::log(n); }},
    {Law::gaussian, "gaussian", 1, 1, true,
     [](double n, double, double sigma, const GaussianNull& null) {
       return null.at(n, sigma).log_mean;
     }},
}};

}  // namespace tamis::lab::profiling
