// The null model: k_eps of n i.i.d. Gaussian logits. The distribution of k_eps is determined
// mostly by the few largest logits, which are drawn; the sum of the others is taken from its exact
// mean and variance. The draws are quasi-random, fixed and the same for every n and sigma, so the
// result is a deterministic function that varies smoothly. docs/laws.md gives its accuracy.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>

#include <tamis/lab/law.h>

#include "core/fail.h"
#include "lab/numbers/random.h"
#include "lab/stats/special.h"

namespace tamis::lab {
namespace {

constexpr std::size_t path_count = 256;
constexpr std::size_t drawn = 16;  ///< number of largest logits that are drawn individually

/// One draw of the variables that determine k_eps, in units that do not depend on n or sigma.
struct Path {
  /// Standard exponentials: the gaps of a Poisson process whose points give the ranks.
  std::array<double, drawn + 1> gaps;
  double remainder;  ///< standard normal, for the sum over the logits not drawn
  double total;      ///< standard normal, for the last point of the Poisson process
};
using Paths = std::array<Path, path_count>;

/// The first six gaps, which matter most, come from an additive recurrence with the powers of the
/// root of g^7 = g + 1 (low discrepancy in six dimensions). The others are stratified, each with a
/// random order of its own.
Paths make_paths() {
  constexpr std::size_t lattice = 6;
  double root = 1;
  for (int i = 0; i < 64; ++i) root = std::pow(1 + root, 1.0 / (lattice + 1));
  Paths paths{};
  std::array<double, path_count> unit{};
  for (std::size_t column = 0; column < drawn + 3; ++column) {
    if (column < lattice) {
      const double step = std::pow(root, -static_cast<double>(column + 1));
      for (std::size_t i = 0; i < path_count; ++i) {
        const double place = 0.5 + step * static_cast<double>(i + 1);
        unit[i] = place - std::floor(place);
      }
    } else {
      const numbers::Stream stream(0, numbers::Purpose::gaussian_null, column);
      for (std::size_t i = 0; i < path_count; ++i) {
        unit[i] = (static_cast<double>(i) + 0.5) / path_count;
        std::swap(unit[i], unit[stream.below(i + 1, static_cast<std::uint32_t>(i))]);
      }
    }
    for (std::size_t i = 0; i < path_count; ++i) {
      if (column <= drawn)
        paths[i].gaps[column] = -std::log(unit[i]);
      else
        (column == drawn + 1 ? paths[i].remainder : paths[i].total) =
            stats::normal_tail_quantile(unit[i]);
    }
  }
  return paths;
}

const Paths& all_paths() {
  static const Paths paths = make_paths();
  return paths;
}

/// The largest logits of one path, standardised, and the number of logits below them.
struct Top {
  std::array<double, drawn> x;
  std::size_t count;
  double below;        ///< number of logits that are not drawn
  double probability;  ///< probability that a logit lies below x[count − 1]
};

/// The i-th largest of n uniforms is 1 − Γ_i/Γ_{n+1}, where Γ are the points of a Poisson process.
Top top_of(const Path& path, double n) {
  Top top{};
  top.count = n < drawn ? static_cast<std::size_t>(n) : drawn;
  top.below = std::max(0.0, n - static_cast<double>(top.count));
  std::array<double, drawn> rank{};
  double sum = 0;
  for (std::size_t i = 0; i < top.count; ++i) rank[i] = sum += path.gaps[i];
  if (top.below > 0) {
    // Γ_{n+1} − Γ_drawn has a Gamma distribution of this shape; Wilson and Hilferty's
    // cube approximates it.
    const double shape = top.below + 1;
    const double cube = 1 - 1 / (9 * shape) + path.total / (3 * std::sqrt(shape));
    sum += shape * cube * cube * cube;
  } else {
    sum += path.gaps[top.count];
  }
  for (std::size_t i = 0; i < top.count; ++i) top.x[i] = stats::normal_tail_quantile(rank[i] / sum);
  top.probability = 1 - rank[top.count - 1] / sum;
  return top;
}

/// Sum of e^{sigma·(x − x[0])} over the logits that are not drawn, which are normals truncated
/// at x[count − 1]. A sum of positive numbers, it is approximated as log-normal with its exact
/// mean and variance.
double remainder_of(const Top& top, double normal, double sigma) {
  if (!(top.below > 0)) return 0;
  const double bound = top.x[top.count - 1];
  // log E e^{s·(x − x[0])} = s²/2 − s·x[0] + log P(Z > s − bound) − log probability, computed
  // without the terms that cancel.
  const auto log_moment = [&](double s) {
    return s * (bound - top.x[0]) - 0.5 * bound * bound + stats::log_scaled_tail(s - bound) -
           std::log(top.probability);
  };
  const double log_mean = std::log(top.below) + log_moment(sigma);
  // log(1 + relative variance of the sum); where exp would overflow, log_square is that
  // to within rounding.
  const double log_square = std::log(top.below) + log_moment(2 * sigma) - 2 * log_mean;
  const double variance = log_square > 40
                              ? log_square
                              : std::log1p(std::max(0.0, std::exp(log_square) - 1 / top.below));
  return std::exp(log_mean + std::sqrt(variance) * normal - 0.5 * variance);
}

/// k_eps of one path. If the boundary lies below the drawn logits, k is where the expected mass of
/// the tail reaches eps, rounded up.
double k_eps_of(const Top& top, double normal, double sigma, double eps) {
  std::array<double, drawn> weight{};
  double kept = 0;
  for (std::size_t i = 0; i < top.count; ++i)
    kept += weight[i] = std::exp(sigma * (top.x[i] - top.x[0]));
  const double rest = remainder_of(top, normal, sigma);
  const double allowed = eps * (kept + rest);
  // All keys below the drawn ones are dropped, and so are the lightest drawn ones that still fit.
  if (rest <= allowed) {
    std::size_t k = top.count;
    double tail = rest;
    while (k > 1 && tail + weight[k - 1] <= allowed * (1 + 1e-12)) tail += weight[--k];
    return static_cast<double>(k);
  }
  // The share of the rest that lies below t is Φ(t − sigma)/Φ(bound − sigma).
  const double bound = top.x[top.count - 1];
  const double t = bound - stats::tail_step(sigma - bound, allowed / rest);
  const double k =
      static_cast<double>(top.count) + top.below * (1 - stats::normal_tail(-t) / top.probability);
  return std::min(static_cast<double>(top.count) + top.below, std::ceil(k - 1e-9 * top.below));
}

using Tops = std::array<Top, path_count>;

void tops_at(double n, Tops& tops) {
  const Paths& paths = all_paths();
  for (std::size_t i = 0; i < path_count; ++i) tops[i] = top_of(paths[i], n);
}

GaussianKEps summarise(const Tops& tops, double sigma, double eps) {
  const Paths& paths = all_paths();
  std::array<double, path_count> k{};
  GaussianKEps result;
  double squares = 0;
  for (std::size_t i = 0; i < path_count; ++i) {
    k[i] = k_eps_of(tops[i], paths[i].remainder, sigma, eps);
    const double y = std::log(k[i]);
    result.mean += k[i] / path_count;
    result.log_mean += y / path_count;
    squares += y * y / path_count;
  }
  result.log_sd = std::sqrt(std::max(0.0, squares - result.log_mean * result.log_mean));
  std::nth_element(k.begin(), k.begin() + path_count / 2, k.end());
  result.median = k[path_count / 2];
  return result;
}

/// Nodes of the table along one axis: `fine` steps up to a seam, then `coarse` steps.
struct Axis {
  std::size_t fine;
  std::size_t coarse;
  [[nodiscard]] constexpr std::size_t nodes() const { return fine + coarse + 1; }
};
/// n = 2^0, 2^1 … 2^20, then 2^22, 2^24 … 2^32.
constexpr Axis lengths{20, 6};
constexpr double length_step = 2;
constexpr double most_doublings = 32;
/// sigma = 0, 0.5 … 10, then equal steps of 1/√sigma down to 0, that is sigma = ∞. For large sigma
/// the two heaviest keys are close with a probability of order 1/sigma, so means vary as 1/sigma
/// and standard deviations as 1/√sigma.
constexpr Axis spreads{20, 20};
constexpr double spread_step = 0.5;
constexpr double spread_seam = 10;

double length_at(std::size_t node) {
  const auto i = static_cast<double>(node);
  const auto seam = static_cast<double>(lengths.fine);
  return std::exp2(i <= seam ? i : seam + length_step * (i - seam));
}
double spread_at(std::size_t node) {
  if (node <= spreads.fine) return spread_step * static_cast<double>(node);
  const double root =
      1 - static_cast<double>(node - spreads.fine) / static_cast<double>(spreads.coarse);
  return spread_seam / (root * root);  // infinite at the last node
}

/// Weights of the cubic through four neighbouring nodes (Catmull and Rom), extended linearly
/// at the ends.
struct Cubic {
  std::array<std::size_t, 4> node;
  std::array<double, 4> weight;
};

/// The cubic at `place`, 0 … nodes − 1, among `nodes` nodes that start at `first`.
Cubic cubic_at(double place, std::size_t first, std::size_t nodes) {
  const std::size_t i = std::min(static_cast<std::size_t>(place), nodes - 2);
  const double u = place - static_cast<double>(i);
  Cubic c{};
  c.node = {i == 0 ? 0 : i - 1, i, i + 1, std::min(i + 2, nodes - 1)};
  c.weight = {0.5 * u * (-1 + u * (2 - u)), 1 + 0.5 * u * u * (3 * u - 5),
              0.5 * u * (1 + u * (4 - 3 * u)), 0.5 * u * u * (u - 1)};
  // Beyond an end the table is continued linearly: the missing value is 2·end − next.
  if (i == 0) {
    c.weight[1] += 2 * c.weight[0];
    c.weight[2] -= c.weight[0];
    c.weight[0] = 0;
  }
  if (i + 2 == nodes) {
    c.weight[2] += 2 * c.weight[3];
    c.weight[1] -= c.weight[3];
    c.weight[3] = 0;
  }
  for (std::size_t& node : c.node) node += first;
  return c;
}

Cubic length_cubic(double n) {
  const double doublings = std::log2(n);
  const auto seam = static_cast<double>(lengths.fine);
  if (doublings <= seam) return cubic_at(doublings, 0, lengths.fine + 1);
  return cubic_at((doublings - seam) / length_step, lengths.fine, lengths.coarse + 1);
}

Cubic spread_cubic(double sigma) {
  if (sigma <= spread_seam) return cubic_at(sigma / spread_step, 0, spreads.fine + 1);
  const double place = static_cast<double>(spreads.coarse) * (1 - std::sqrt(spread_seam / sigma));
  return cubic_at(place, spreads.fine, spreads.coarse + 1);
}

void check_eps(double eps) {
  if (!(eps > 0 && eps < 1))
    core::fail(Code::usage, "eps = {} of the Gaussian null; it must lie between 0 and 1", eps);
}

void check_row(double n, double sigma) {
  if (!(n >= 1) || !std::isfinite(n))
    core::fail(Code::usage, "n = {} keys in the Gaussian null; there must be at least 1", n);
  if (!(sigma >= 0) || !std::isfinite(sigma))
    core::fail(Code::usage, "sigma = {} in the Gaussian null; it must be finite and not negative",
               sigma);
}

}  // namespace

GaussianNull::GaussianNull(double eps) : eps_(eps) {
  check_eps(eps);
  // At infinite sigma, the last node, k_eps is 1 and all logarithms stay 0.
  table_.resize(lengths.nodes() * spreads.nodes());
  const auto tops = std::make_unique<Tops>();
  for (std::size_t i = 0; i < lengths.nodes(); ++i) {
    tops_at(length_at(i), *tops);
    for (std::size_t j = 0; j + 1 < spreads.nodes(); ++j) {
      GaussianKEps& entry = table_[i * spreads.nodes() + j];
      entry = summarise(*tops, spread_at(j), eps);
      entry.median = std::log(entry.median);  // medians and means are interpolated as logarithms
      entry.mean = std::log(entry.mean);
    }
  }
}

GaussianKEps GaussianNull::at(double n, double sigma) const {
  check_row(n, sigma);
  if (n > std::exp2(most_doublings)) {
    const auto tops = std::make_unique<Tops>();
    tops_at(n, *tops);
    return summarise(*tops, sigma, eps_);
  }
  const Cubic row = length_cubic(n);
  const Cubic column = spread_cubic(sigma);
  GaussianKEps sum;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      const GaussianKEps& entry = table_[row.node[i] * spreads.nodes() + column.node[j]];
      const double weight = row.weight[i] * column.weight[j];
      sum.log_mean += weight * entry.log_mean;
      sum.log_sd += weight * entry.log_sd;
      sum.median += weight * entry.median;
      sum.mean += weight * entry.mean;
    }
  const double most = std::log(n);
  sum.log_mean = std::clamp(sum.log_mean, 0.0, most);
  sum.log_sd = std::max(sum.log_sd, 0.0);
  sum.median = std::exp(std::clamp(sum.median, 0.0, most));
  sum.mean = std::exp(std::clamp(sum.mean, 0.0, most));
  return sum;
}

double gaussian_k_eps(double n, double sigma, double eps) {
  check_eps(eps);
  check_row(n, sigma);
  const auto tops = std::make_unique<Tops>();
  tops_at(n, *tops);
  return summarise(*tops, sigma, eps).median;
}

}  // namespace tamis::lab
