// The oracle's arithmetic and the bound on its error. u = 2⁻⁵³; w is the unit roundoff of long
// double (2⁻⁶⁴ on x86); γ_k(x) = kx/(1 − kx) bounds k roundings in a row.
//
// Logits. A product of two floats is exact in f64 and in anything longer. d − 1 additions and the
// multiplication by scale give |ŝ_j − s_j| ≤ ε_j = γ_d(w)·|scale|·Σ|q_c·k_jc|.
//
// Weights. e_j = exp(ŝ_j − ŝ_top), and exactly 1 for the key `top` with the largest ŝ; relative to
// exp(s_top), the truth is exp(ŝ_j − ŝ_top + x) with |x| ≤ ε_j + ε_top. Rounding the difference to
// f64 moves the exponent by (u + w)|ŝ_j − ŝ_top|, and exp errs by one unit in the last place, 2u.
// So the truth lies within δ_j of e_j,
//   δ_j = e_j·expm1(g_j) + 2⁻¹⁰²² ≤ exp(ŝ_j − ŝ_top + g_j) + 2⁻¹⁰²²,  g_j = ε_j + ε_top + 3u·(1 +
//   |ŝ_j − ŝ_top|),
// the last term for results in the denormal range; δ_top = 0. With Z = Σe_j and Δ = Σδ_j, the true
// sum is at least L = max(1, Z − Δ), and for weights e within δ of the truth
//   ½Σ|p − p̂| ≤ Δ/L,   ‖Σ(p − p̂)v‖ ≤ Σ δ_j·‖v_j − ô‖/L ≤ (Σ δ_j‖v_j‖ + Δ‖ô‖)/L.
// Keys far below the top have δ_j = 0 however wrong their logit is, so the bound stays sharp for
// logits of 10³⁰.
//
// Sums. p̂_j = e_j/Z carries γ_{n+1}(u). Comparing with weights w_j/Σw adds as much for them, one
// subtraction and a sum of n terms: in all less than γ_{2n+4}(u), and 4(n + 4)u covers it.
// ô has γ_{2n+3}(u)·Σp̂_j‖v_j‖ by the triangle inequality. log Z errs by (n + 2)u + 2⁻⁴⁶.
// Bounds are themselves sums of positive terms in f64: `up` covers their rounding for n < 2¹⁶.
// Products of a weight and a value that underflow, 2⁻¹⁰⁷⁴ each, are covered by 2⁻¹⁰⁰⁰.
#include "support/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tamis::test {
namespace {

constexpr double u = 0x1p-53;
constexpr long double w = std::numeric_limits<long double>::epsilon() / 2;
constexpr double up = 1 + 0x1p-36;  // 2⁻³⁶ = 2¹⁷·u

float element(DType dtype, const void* row, std::int64_t c) {
  switch (dtype) {
    case DType::f16:
      return to_float(static_cast<const f16*>(row)[c]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(row)[c]);
    default:
      return static_cast<const float*>(row)[c];
  }
}

std::vector<float> gather(DType dtype, const void* const* pages, std::int64_t stride,
                          std::int64_t tokens, std::int64_t dim) {
  std::vector<float> rows(static_cast<std::size_t>(tokens * dim));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto* page = static_cast<const char*>(pages[t / page_tokens]);
    const void* row = page + (t % page_tokens) * stride * size_of(dtype);
    for (std::int64_t c = 0; c < dim; ++c)
      rows[static_cast<std::size_t>(t * dim + c)] = element(dtype, row, c);
  }
  return rows;
}

template <class T>
double norm(std::span<const T> x) {
  double squares = 0;
  for (const T y : x) squares += static_cast<double>(y) * static_cast<double>(y);
  return std::sqrt(squares) * up;
}

std::vector<double> norms(const std::vector<float>& rows, std::size_t dim) {
  std::vector<double> result(rows.size() / dim);
  for (std::size_t t = 0; t < result.size(); ++t)
    result[t] = norm(std::span<const float>(rows).subspan(t * dim, dim));
  return result;
}

/// The keys and values of one KV head.
struct Head {
  std::vector<float> k;
  std::vector<float> v;
  std::vector<double> v_norms;
};

/// Computes s_j and, in `size`, |scale|·Σ|q_c·k_jc|.
void logits(const Shape& shape, std::span<const float> q, const Head& head,
            std::span<long double> s, std::span<double> size) {
  const std::size_t d = q.size();
  // Four keys at a time hide the latency of the additions.
  for (std::size_t j = 0; j < s.size(); j += 4) {
    const std::size_t count = std::min<std::size_t>(4, s.size() - j);
    long double dot[4] = {};
    double sum[4] = {};
    const float* k[4];
    for (std::size_t i = 0; i < 4; ++i) k[i] = head.k.data() + (j + std::min(i, count - 1)) * d;
    for (std::size_t c = 0; c < d; ++c) {
      const long double x = q[c];
      for (std::size_t i = 0; i < 4; ++i) {
        dot[i] += x * k[i][c];
        sum[i] += std::abs(static_cast<double>(q[c]) * k[i][c]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      s[j + i] = shape.scale * dot[i];
      size[j + i] = std::abs(static_cast<double>(shape.scale)) * sum[i];
    }
  }
}

void attend_row(const Shape& shape, std::span<const float> q, const Head& head,
                std::span<double> weights, std::span<double> out, ExactRow& row) {
  const std::size_t n = weights.size();
  std::vector<long double> s(n);
  std::vector<double> size(n);
  logits(shape, q, head, s, size);
  const auto top = static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
  const auto d = static_cast<double>(q.size());
  const double gamma = static_cast<double>(w) * d / (1 - static_cast<double>(w) * d) * up;
  const double top_off = gamma * size[top];

  double z = 0;
  double off = 0;        // Δ
  double off_value = 0;  // Σ δ_j‖v_j‖
  for (std::size_t j = 0; j < n; ++j) {
    const auto below = static_cast<double>(s[j] - s[top]);
    const double e = weights[j] = std::exp(below);
    z += e;
    if (j == top) continue;
    const double g = gamma * size[j] + top_off + 3 * u * (1 - below);
    const double delta = (g < 1 ? e * std::expm1(g) : std::exp(below + g)) + 0x1p-1022;
    off += delta;
    off_value += delta * head.v_norms[j];
  }
  std::fill(out.begin(), out.end(), 0.0);
  double mean_norm = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double p = weights[j] /= z;
    mean_norm += p * head.v_norms[j];
    const float* v = head.v.data() + j * out.size();
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += p * v[c];
  }
  const double least = std::max(1.0, z - off * up);
  const auto keys = static_cast<double>(n);
  row.lse = s[top] + std::log(z);
  row.tau_slack = (off / least + 4 * (keys + 4) * u) * up;
  row.error_slack = ((off_value + off * norm(std::span<const double>(out))) / least +
                     (2 * keys + 4) * u * mean_norm + 0x1p-1000) *
                    up;
  row.lse_slack = (top_off + off / least + (keys + 2) * u + 0x1p-46 +
                   4 * static_cast<double>(w * std::abs(row.lse))) *
                  up;
}

}  // namespace

Oracle::Oracle(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
               std::span<const std::int64_t> seen)
    : shape_(shape), rows_(static_cast<std::size_t>(shape.rows())) {
  const auto keys_of = [&](std::size_t row) {
    const auto head = row / static_cast<std::size_t>(shape.group() * shape.queries);
    return static_cast<std::size_t>(
        seen.empty() ? kv[head].tokens : seen[row % static_cast<std::size_t>(shape.queries)]);
  };
  std::size_t all = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) all += keys_of(r);
  weights_.resize(all);
  out_.resize(rows_.size() * static_cast<std::size_t>(shape.value_dim));
  std::size_t first = 0;
  Head head;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const auto rows_per_head = static_cast<std::size_t>(shape.group() * shape.queries);
    if (r % rows_per_head == 0) {
      const KvPages& pages = kv[r / rows_per_head];
      head.k = gather(shape.dtype, pages.k, pages.k_stride, pages.tokens, shape.head_dim);
      head.v = gather(shape.dtype, pages.v, pages.v_stride, pages.tokens, shape.value_dim);
      head.v_norms = norms(head.v, static_cast<std::size_t>(shape.value_dim));
      huge_.emplace_back(static_cast<std::size_t>(pages.tokens));
      for (const std::vector<float>* part : {&head.k, &head.v})
        for (std::size_t i = 0; i < part->size(); ++i)
          if (std::abs((*part)[i]) > 0x1p55F)
            huge_.back()[i / (part->size() / huge_.back().size())] = 1;
    }
    const std::size_t n = keys_of(r);
    const std::span<double> weights = std::span(weights_).subspan(first, n);
    const auto dim = static_cast<std::size_t>(shape.value_dim);
    const std::span<double> out = std::span(out_).subspan(r * dim, dim);
    first += n;
    rows_[r].weights = weights;
    rows_[r].out = out;
    if (n > 0) attend_row(shape, q.row(static_cast<std::int64_t>(r)), head, weights, out, rows_[r]);
  }
}

std::int64_t Oracle::most_keys(std::int64_t row) const {
  const std::int64_t rows_per_head = shape_.group() * shape_.queries;
  const std::int64_t first = row / rows_per_head * rows_per_head;
  std::int64_t most = 0;
  for (std::int64_t r = first; r < first + rows_per_head; ++r) most = std::max(most, keys(r));
  return most;
}

double total_variation(std::span<const float> weights, const ExactRow& exact) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const float x : weights) {
    if (!(x >= 0)) return nan;
    sum += x;
  }
  if (!(sum > 0) || !std::isfinite(sum)) return nan;
  double far = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    far += std::abs(weights[j] / sum - exact.weights[j]);
  return far / 2;
}

double distance(std::span<const float> out, const ExactRow& exact) {
  double squares = 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const double off = static_cast<double>(out[c]) - exact.out[c];
    squares += off * off;
  }
  return std::sqrt(squares) / up;
}

}  // namespace tamis::test
