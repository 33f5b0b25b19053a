// Heads with a known law: k_eps is drawn from a law with noise, or measured on Gaussian logits.
#pragma once

#include <cstdint>
#include <vector>

#include <tamis/lab/law.h>

namespace tamis::test {

struct PlantedHead {
  std::vector<double> n;
  std::vector<double> k_eps;
  std::vector<double> sigma;  ///< may be empty
  [[nodiscard]] lab::LawRows rows() const { return {n, k_eps, sigma}; }
};

/// Rows and noise of a planted head. Lengths are uniform in n_low … n_high, like positions
/// in a text.
struct Planting {
  std::int64_t rows = 256;
  double n_low = 1024;
  double n_high = 8192;
  double noise = 0.75;     ///< standard deviation of log k_eps
  double correlation = 0;  ///< of the noise of rows that are neighbours in n
  double sigma = -1;       ///< the same for every row; negative if not given
  std::uint64_t seed = 0;
};

/// k_eps = level·shape(n)/shape(3000)·e^noise, rounded to 1 … n; `law` is constant, logarithmic,
/// power or linear.
PlantedHead plant(lab::Law law, double C, double level, const Planting& planting);

/// Draws rows of i.i.d. N(0, sigma²) logits and measures k_eps and sigma on them. Takes the sum of
/// n times about 50 ns.
PlantedHead plant_gaussian(double sigma, double eps, const Planting& planting);

/// k_eps of one row of logits, by sorting.
double k_eps_by_sorting(std::vector<double> logits, double eps);

}  // namespace tamis::test
