// Computes ‖W_Q R W_Kᵀ‖_F from d × d Gram matrices, as ‖A R Bᵀ‖² = tr(Rᵀ·AᵀA·R·BᵀB). With a rotary
// embedding R = Σ u_m B_m, where u = (cos θ_p·offset …, sin θ_p·offset …, 1) and the B_m are
// fixed, so the squared norm is uᵀMu with one small matrix M for all offsets. Takes hidden·d²
// operations per head, then d² per offset.
#include <tamis/lab/law.h>
#include <tamis/lab/norms.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"
#include "core/parallel.h"

namespace tamis::lab {
namespace {

/// AᵀA of a hidden × d matrix.
std::vector<double> gram(const double* a, std::int64_t hidden, std::int64_t d) {
  std::vector<double> g(static_cast<std::size_t>(d * d));
  for (std::int64_t h = 0; h < hidden; ++h) {
    const double* row = a + h * d;
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j < d; ++j)
        g[static_cast<std::size_t>(i * d + j)] += row[i] * row[j];
  }
  return g;
}

/// One nonzero entry of a B_m: `sign`, ±1, at row `row` and column `column`.
struct Move {
  std::int64_t column;
  std::int64_t row;
  double sign;
};
using Moves = std::vector<Move>;

/// Returns the B_m in this order: each pair's cosine, each pair's sine, all
/// dimensions not rotated.
std::vector<Moves> rotation_basis(std::int64_t d, const std::optional<Rotary>& rotary) {
  const std::int64_t pairs = rotary ? rotary->dims / 2 : 0;
  std::vector<Moves> basis(static_cast<std::size_t>(2 * pairs + 1));
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::int64_t a = rotary->interleaved ? 2 * p : p;
    const std::int64_t b = rotary->interleaved ? 2 * p + 1 : p + pairs;
    basis[static_cast<std::size_t>(p)] = {{a, a, 1}, {b, b, 1}};
    basis[static_cast<std::size_t>(pairs + p)] = {{a, b, 1}, {b, a, -1}};
  }
  for (std::int64_t i = 2 * pairs; i < d; ++i) basis.back().push_back({i, i, 1});
  return basis;
}

/// M_mn = tr(B_mᵀ·G_Q·B_n·G_K).
std::vector<double> quadratic_form(const std::vector<Moves>& basis, const std::vector<double>& g_q,
                                   const std::vector<double>& g_k, std::int64_t d) {
  std::vector<double> form;
  form.reserve(basis.size() * basis.size());
  for (const Moves& left : basis)
    for (const Moves& right : basis) {
      double sum = 0;
      for (const Move& i : left)
        for (const Move& j : right)
          sum += i.sign * j.sign * g_q[static_cast<std::size_t>(i.row * d + j.row)] *
                 g_k[static_cast<std::size_t>(i.column * d + j.column)];
      form.push_back(sum);
    }
  return form;
}

double norm_at(const std::vector<double>& form, const std::vector<double>& u) {
  double sum = 0;
  for (std::size_t m = 0; m < u.size(); ++m) {
    double row = 0;
    for (std::size_t n = 0; n < u.size(); ++n) row += form[m * u.size() + n] * u[n];
    sum += u[m] * row;
  }
  return sum < 0 ? 0 : std::sqrt(sum);  // a NaN is passed on
}

/// Sets u for one offset i − j. Key j is rotated backwards by that offset relative to the query.
void fill_rotation(std::vector<double>& u, std::int64_t offset,
                   const std::vector<double>& frequencies) {
  const std::size_t pairs = frequencies.size();
  for (std::size_t p = 0; p < pairs; ++p) {
    const double angle = -frequencies[p] * static_cast<double>(offset);
    u[p] = std::cos(angle);
    u[pairs + p] = std::sin(angle);
  }
  u[2 * pairs] = 1;
}

void check_weight(const Tensor& w, const char* name, std::int64_t heads, std::int64_t hidden,
                  std::int64_t d) {
  const std::vector<std::int64_t>& shape = w.info().shape;
  if (shape.size() != 3 || shape[0] != heads || shape[1] != hidden || shape[2] != d)
    core::fail(Code::usage, "{} must have the shape [{}, {}, {}]: heads, hidden, head_dim", name,
               heads, hidden, d);
}

void check(const LayerWeights& weights, const Shape& shape, const std::optional<Rotary>& rotary,
           std::int64_t offsets, int threads) {
  if (weights.w_q.info().shape.size() != 3)
    core::fail(Code::usage, "w_q must have three dimensions: heads, hidden, head_dim");
  if (shape.kv_heads < 1 || shape.query_heads < 1 || shape.query_heads % shape.kv_heads != 0)
    core::fail(Code::usage,
               "{} query heads and {} KV heads; the first must be a multiple of the second",
               shape.query_heads, shape.kv_heads);
  const std::int64_t hidden = weights.w_q.info().shape[1];
  check_weight(weights.w_q, "w_q", shape.query_heads, hidden, shape.head_dim);
  check_weight(weights.w_k, "w_k", shape.kv_heads, hidden, shape.head_dim);
  if (rotary && (rotary->dims < 2 || rotary->dims % 2 != 0 || rotary->dims > shape.head_dim ||
                 !(rotary->theta > 0)))
    core::fail(Code::usage,
               "a rotary embedding of {} dimensions, base {}; dimensions must be even, 2 to "
               "head_dim = {}, and the base above 0",
               rotary->dims, rotary->theta, shape.head_dim);
  if (offsets < 1)
    core::fail(Code::usage, "norms over {} offsets; there must be at least 1", offsets);
  if (threads < 1) core::fail(Code::usage, "{} threads; there must be at least 1", threads);
}

}  // namespace

std::vector<WeightNorm> weight_norms(const LayerWeights& weights, const Shape& shape,
                                     const std::optional<Rotary>& rotary, std::int64_t offsets,
                                     int threads, Offsets which) {
  check(weights, shape, rotary, offsets, threads);
  const std::int64_t d = shape.head_dim;
  const std::int64_t hidden = weights.w_q.info().shape[1];
  const std::vector<double> w_q = weights.w_q.to_f64();
  const std::vector<double> w_k = weights.w_k.to_f64();
  const std::vector<Moves> basis = rotation_basis(d, rotary);
  std::vector<double> frequencies;
  for (std::int64_t p = 0; rotary && p < rotary->dims / 2; ++p)
    frequencies.push_back(
        std::pow(rotary->theta, -2 * static_cast<double>(p) / static_cast<double>(rotary->dims)));

  std::vector<WeightNorm> norms(static_cast<std::size_t>(shape.query_heads));
  core::parallel_for(shape.query_heads, threads, [&](std::int64_t head, int) {
    const std::int64_t kv_head = head / shape.group();
    const std::vector<double> form =
        quadratic_form(basis, gram(w_q.data() + head * hidden * d, hidden, d),
                       gram(w_k.data() + kv_head * hidden * d, hidden, d), d);
    std::vector<double> u(basis.size());
    WeightNorm& result = norms[static_cast<std::size_t>(head)];
    const auto look_at = [&](std::int64_t offset) {
      fill_rotation(u, offset, frequencies);
      const double norm = std::abs(static_cast<double>(shape.scale)) * norm_at(form, u);
      if (!std::isfinite(norm))
        core::fail(Code::input,
                   "the weights of query head {} have a norm that is not finite; all of w_q and "
                   "w_k must be",
                   head);
      if (offset == 0) result = {norm, norm, norm, 0, 0};
      if (norm < result.low) {
        result.low = norm;
        result.low_offset = offset;
      }
      if (norm > result.high) {
        result.high = norm;
        result.high_offset = offset;
      }
    };
    look_at(0);
    for (std::int64_t offset = 1; rotary && offset < offsets; ++offset) {
      look_at(offset);
      if (which == Offsets::all) look_at(-offset);
    }
  });
  return norms;
}

NormPrediction predict_from_norm(double input_bound, double norm, double n, double eps) {
  if (!(input_bound > 0) || !std::isfinite(input_bound))
    core::fail(Code::usage, "B = {} as a bound of the inputs; it must be finite and above 0",
               input_bound);
  if (!(norm >= 0) || !std::isfinite(norm))
    core::fail(Code::usage, "norm = {} of W; it must be finite and not negative", norm);
  NormPrediction result;
  result.R = input_bound * input_bound * norm;
  // At a standard deviation of 1000 one key suffices: the two largest of 2^20 Gaussians are
  // typically 0.2 apart.
  result.k_eps = gaussian_k_eps(n, std::min(result.R, 1000.0), eps);
  const double log_n = std::log(n);
  result.exponent =
      log_n > 0 ? std::max(0.0, 1 - result.R * result.R / (2 * log_n)) : (result.R > 0 ? 0.0 : 1.0);
  return result;
}

}  // namespace tamis::lab
