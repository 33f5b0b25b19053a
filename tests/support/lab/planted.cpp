#include "support/lab/planted.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "lab/numbers/random.h"

namespace tamis::test {
namespace {

std::vector<double> lengths(const Planting& planting) {
  const lab::numbers::Stream stream(planting.seed, lab::numbers::Purpose::test, 0);
  std::vector<double> n;
  for (std::int64_t i = 0; i < planting.rows; ++i)
    n.push_back(std::floor(planting.n_low + (planting.n_high - planting.n_low + 1) *
                                                stream.uniform(static_cast<std::uint32_t>(i))));
  std::sort(n.begin(), n.end());
  return n;
}

double shape(lab::Law law, double C, double n) {
  switch (law) {
    case lab::Law::logarithmic:
      return std::log(n);
    case lab::Law::power:
      return std::pow(n, C);
    case lab::Law::linear:
      return n;
    default:
      return 1;
  }
}

}  // namespace

PlantedHead plant(lab::Law law, double C, double level, const Planting& planting) {
  PlantedHead head;
  head.n = lengths(planting);
  const lab::numbers::Stream stream(planting.seed, lab::numbers::Purpose::test, 1);
  const double rho = planting.correlation;
  double noise = 0;
  for (std::size_t i = 0; i < head.n.size(); ++i) {
    const double fresh = stream.normal(static_cast<std::uint32_t>(i));
    noise = i == 0 ? fresh : rho * noise + std::sqrt(1 - rho * rho) * fresh;
    const double n = head.n[i];
    const double k =
        level * shape(law, C, n) / shape(law, C, 3000) * std::exp(planting.noise * noise);
    head.k_eps.push_back(std::clamp(std::round(k), 1.0, n));
    if (planting.sigma >= 0) head.sigma.push_back(planting.sigma);
  }
  return head;
}

PlantedHead plant_gaussian(double sigma, double eps, const Planting& planting) {
  PlantedHead head;
  head.n = lengths(planting);
  std::vector<double> logits;
  for (std::size_t i = 0; i < head.n.size(); ++i) {
    logits.resize(static_cast<std::size_t>(head.n[i]));
    lab::numbers::Stream(planting.seed, lab::numbers::Purpose::test, 2 + i).fill_normal(logits);
    double sum = 0;
    double squares = 0;
    for (double& x : logits) {
      x *= sigma;
      sum += x;
      squares += x * x;
    }
    const double mean = sum / head.n[i];
    head.sigma.push_back(std::sqrt(std::max(0.0, squares / head.n[i] - mean * mean)));
    head.k_eps.push_back(k_eps_by_sorting(logits, eps));
  }
  return head;
}

double k_eps_by_sorting(std::vector<double> logits, double eps) {
  const double most = *std::max_element(logits.begin(), logits.end());
  for (double& x : logits) x = std::exp(x - most);
  std::sort(logits.begin(), logits.end());
  const double total = std::accumulate(logits.begin(), logits.end(), 0.0);
  double tail = 0;
  std::size_t dropped = 0;
  while (dropped + 1 < logits.size() && tail + logits[dropped] <= eps * total)
    tail += logits[dropped++];
  return static_cast<double>(logits.size() - dropped);
}

}  // namespace tamis::test
