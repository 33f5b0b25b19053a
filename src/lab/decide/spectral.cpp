// Sign-rank is at least √(Σp·Σw)/σ with σ = ‖diag(p)^½·M·diag(w)^½‖₂ and weights p of rows and w of
// columns (docs/refutation.md). For the unit singular vectors u, v of σ, the logarithm of the bound
// has the derivatives p_i/Σp − u_i² and w_j/Σw − v_j² (halved) in log p_i and log w_j. So rows and
// columns with a large entry in the largest singular vector get less weight, and the others more.
#include "lab/decide/spectral.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tamis::lab::decision {
namespace {

constexpr std::int64_t most_elements = 2048;

/// The matrix M of ±1, by rows, and its weighted spectral norm.
class Norm {
 public:
  explicit Norm(const SignMatrix& signs)
      : rows_(static_cast<std::size_t>(signs.rows)),
        cols_(static_cast<std::size_t>(signs.cols)),
        m_(rows_ * cols_) {
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t j = 0; j < cols_; ++j)
        m_[i * cols_ + j] =
            signs.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) ? 1.0F : -1.0F;
  }

  /// Returns σ after power iteration from v. Replaces v by the right singular vector found and u by
  /// the left one.
  double operator()(const std::vector<float>& root_p, const std::vector<float>& root_w,
                    std::vector<float>& u, std::vector<float>& v) const {
    constexpr int steps = 24;
    double sigma = 0;
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < rows_; ++i) {
        const float* row = &m_[i * cols_];
        float sum[8] = {};
        std::size_t j = 0;
        for (; j + 8 <= cols_; j += 8)
          for (std::size_t l = 0; l < 8; ++l) sum[l] += row[j + l] * (root_w[j + l] * v[j + l]);
        for (; j < cols_; ++j) sum[0] += row[j] * (root_w[j] * v[j]);
        u[i] = root_p[i] * std::accumulate(std::begin(sum), std::end(sum), 0.0F);
      }
      normalise(u);
      std::ranges::fill(v, 0.0F);
      for (std::size_t i = 0; i < rows_; ++i) {
        const float* row = &m_[i * cols_];
        const float factor = root_p[i] * u[i];
        for (std::size_t j = 0; j < cols_; ++j) v[j] += row[j] * factor;
      }
      for (std::size_t j = 0; j < cols_; ++j) v[j] *= root_w[j];
      sigma = normalise(v);
    }
    return sigma;
  }

 private:
  static double normalise(std::vector<float>& x) {
    double square = 0;
    for (const float value : x) square += static_cast<double>(value) * value;
    const double norm = std::sqrt(square);
    if (norm > 0)
      for (float& value : x) value = static_cast<float>(value / norm);
    return norm;
  }

  std::size_t rows_, cols_;
  std::vector<float> m_;
};

/// Moves shares, which sum to one, against the squares of a singular vector. No share falls below a
/// thousandth of the mean; those far below the largest are left out in the end.
void move(std::vector<double>& share, const std::vector<float>& vector, double step) {
  const double least = 1e-3 / static_cast<double>(share.size());
  double sum = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double lean = static_cast<double>(vector[i]) * vector[i] / share[i] - 1;
    share[i] = std::max(least, share[i] * std::exp(-step * std::clamp(lean, -1.0, 3.0)));
    sum += share[i];
  }
  for (double& value : share) value /= sum;
}

std::vector<float> roots(const std::vector<double>& share) {
  std::vector<float> root(share.size());
  std::ranges::transform(share, root.begin(),
                         [](double value) { return static_cast<float>(std::sqrt(value)); });
  return root;
}

/// Rounds shares to proportional integers; rows or columns with next to no weight are left out.
void keep(const std::vector<double>& share, const std::vector<std::int64_t>& index_of,
          std::vector<std::int64_t>& kept, std::vector<std::int64_t>& weights) {
  constexpr double scale = 1 << 20;
  const double most = *std::ranges::max_element(share);
  for (std::size_t i = 0; i < share.size(); ++i) {
    const std::int64_t weight = std::llround(share[i] / most * scale);
    if (weight < static_cast<std::int64_t>(scale) >> 10) continue;
    kept.push_back(index_of[i]);
    weights.push_back(weight);
  }
}

}  // namespace

std::optional<SpectralBound> spectral_bound(const SignMatrix& signs, Clock::Part& clock) {
  // The limit of the checker of refutations.
  constexpr std::int64_t most_products = std::int64_t{1} << 36;
  const std::int64_t near = std::min(signs.rows, signs.cols);
  if (near > most_elements || std::max(signs.rows, signs.cols) > most_products / (near * near))
    return std::nullopt;
  const auto rows = static_cast<std::size_t>(signs.rows);
  const auto cols = static_cast<std::size_t>(signs.cols);
  const Norm norm(signs);
  std::vector<double> p(rows, 1.0 / static_cast<double>(rows));
  std::vector<double> w(cols, 1.0 / static_cast<double>(cols));
  std::vector<float> u(rows);
  std::vector<float> v(cols);
  for (std::size_t j = 0; j < cols; ++j) v[j] = 1.0F + static_cast<float>(j % 7) / 7;
  SpectralBound best;
  std::vector<double> best_p = p;
  std::vector<double> best_w = w;
  constexpr int rounds = 200;
  constexpr int patience = 40;
  int since = 0;
  for (int round = 0; round < rounds && since < patience; ++round) {
    if (round > 0 && clock.over()) break;
    const double sigma = norm(roots(p), roots(w), u, v);
    ++since;
    if (1 / sigma > best.sign_rank) {
      if (1 / sigma > best.sign_rank * 1.001) since = 0;
      best.sign_rank = 1 / sigma;
      best_p = p;
      best_w = w;
    }
    const double step = 0.5 / std::sqrt(1.0 + round);
    move(p, u, step);
    move(w, v, step);
  }
  keep(best_p, signs.row_of, best.weights.rows, best.weights.row_weights);
  keep(best_w, signs.column_of, best.weights.columns, best.weights.column_weights);
  return best;
}

}  // namespace tamis::lab::decision
