#include "lab/verify/form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "lab/verify/rounding.h"

namespace tamis::lab::verification {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// An upper bound on ‖v‖, infinite if a square overflows. A sum of n squares is off by a factor
/// within (1 ± u)^(n+1), u = 2^-53, and by n·2^-1075 where squares underflow; the root adds one
/// rounding. Allowing 2u for each rounding covers them all for n < 2^40.
double norm_above(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  const auto n = static_cast<double>(v.size());
  return std::sqrt(sum) * (1 + (n + 4) * 0x1p-52) + (n + 1) * 0x1p-537;
}

void fill_norms(Factor& factor) {
  factor.norm.resize(static_cast<std::size_t>(factor.rows));
  for (std::int64_t i = 0; i < factor.rows; ++i)
    factor.norm[static_cast<std::size_t>(i)] = norm_above(factor.row(i));
}

Product product_of(const Tensor& x, const Tensor& w) {
  Product product;
  product.hidden = x.info().shape[1];
  product.x = x.to_f64();
  const std::vector<double> weights = w.to_f64();
  const auto dim = static_cast<std::size_t>(w.info().shape[1]);
  product.start.push_back(0);
  for (std::size_t c = 0; c < dim; ++c) {
    for (std::size_t h = 0; h * dim < weights.size(); ++h) {
      if (weights[h * dim + c] == 0) continue;
      product.row.push_back(h);
      product.weight.push_back(weights[h * dim + c]);
    }
    product.start.push_back(product.row.size());
  }
  return product;
}

/// Whether x·w = head exactly. If |head| ≥ 2^-900, the residual is a double, so fma decides.
bool is_exact_product(double x, double w, double head) {
  return x == 0 ||
         (std::isfinite(head) && std::abs(head) >= 0x1p-900 && std::fma(x, w, -head) == 0);
}

/// One element of x·w in f64, and an upper bound on its distance from the exact one. The bound is 0
/// if at most one term is not zero and its product is exact. Otherwise it is γ_t·Σ|x·w| + t·η for t
/// terms, in the form explained in logits.cpp.
struct Element {
  double value = 0;
  double off = 0;
};

Element element_of(const Product& of, const double* x, std::size_t column) {
  Element element;
  double size = 0;
  int terms = 0;
  bool exact = true;
  for (std::size_t at = of.start[column]; at < of.start[column + 1]; ++at) {
    const double product = x[of.row[at]] * of.weight[at];
    element.value += product;
    size += std::abs(product);
    terms += x[of.row[at]] != 0 ? 1 : 0;
    exact = exact && is_exact_product(x[of.row[at]], of.weight[at], product);
  }
  if (terms <= 1 && exact) return element;
  const auto t = static_cast<double>(of.start[column + 1] - of.start[column]);
  element.off = (t + 4) * 0x1p-52 * size + (t + 4) * std::numeric_limits<double>::denorm_min();
  if (!std::isfinite(element.value)) element.off = infinity;
  return element;
}

/// The same element in f32. Leaving out terms of weight zero changes no sum of finite numbers.
float element_f32(const Product& of, const double* x, std::size_t column) {
  float sum = 0;
  for (std::size_t at = of.start[column]; at < of.start[column + 1]; ++at)
    sum += static_cast<float>(x[of.row[at]]) * static_cast<float>(of.weight[at]);
  return sum;
}

/// Whether all inputs fit f32. One that does not makes every logit of its row infinite or NaN,
/// whatever the weights.
bool fits_f32(std::span<const double> x) {
  for (const double value : x)
    if (!std::isfinite(static_cast<float>(value))) return false;
  return true;
}

/// An interval that contains the exact element of x·w minus `head`.
numbers::Interval enclose_residual(const Product& of, const double* x, std::size_t column,
                                   double head) {
  if (!std::isfinite(head)) return {-infinity, infinity};
  std::vector<double> inputs{-1};
  std::vector<double> weights{head};
  for (std::size_t at = of.start[column]; at < of.start[column + 1]; ++at) {
    inputs.push_back(x[of.row[at]]);
    weights.push_back(of.weight[at]);
  }
  return numbers::enclose_dot(std::span<const double>(inputs), std::span<const double>(weights));
}

void fill_product_row(Factor& factor, std::size_t i) {
  const Product& of = *factor.of;
  const auto dim = static_cast<std::size_t>(factor.dim);
  const auto hidden = static_cast<std::size_t>(of.hidden);
  const auto input = std::span(of.x).subspan(i * hidden, hidden);
  const bool fits = fits_f32(input);
  std::vector<double> off(dim);
  for (std::size_t c = 0; c < dim; ++c) {
    const Element element = element_of(of, input.data(), c);
    factor.f64[i * dim + c] = element.value;
    factor.f32[i * dim + c] =
        fits ? element_f32(of, input.data(), c) : std::numeric_limits<float>::quiet_NaN();
    off[c] = element.off;
  }
  if (std::ranges::all_of(off, [](double x) { return x == 0; })) return;
  factor.off[i] = norm_above(off);
  for (std::size_t c = 0; c < dim; ++c) {
    const numbers::Interval lacking =
        enclose_residual(of, input.data(), c, factor.f64[i * dim + c]);
    factor.tail[i * dim + c] = lacking.lo / 2 + lacking.hi / 2;
    off[c] = lacking.hi - lacking.lo;
  }
  factor.rest[i] = norm_above(off);
}

}  // namespace

Factor given_factor(const Tensor& values) {
  Factor factor;
  factor.rows = values.info().shape[0];
  factor.dim = values.info().shape[1];
  factor.f64 = values.to_f64();
  factor.f32 = values.to_f32();
  factor.off.assign(static_cast<std::size_t>(factor.rows), 0);
  fill_norms(factor);
  return factor;
}

Factor product_factor(const Tensor& x, const Tensor& w, int threads) {
  Factor factor;
  factor.of = product_of(x, w);
  factor.rows = x.info().shape[0];
  factor.dim = w.info().shape[1];
  factor.f64.resize(static_cast<std::size_t>(factor.rows * factor.dim));
  factor.f32.resize(factor.f64.size());
  factor.off.resize(static_cast<std::size_t>(factor.rows));
  factor.tail.resize(factor.f64.size());
  factor.rest.resize(factor.off.size());
  core::parallel_for(factor.rows, threads, [&factor](std::int64_t i, int) {
    const PlainRounding rounding;
    fill_product_row(factor, static_cast<std::size_t>(i));
  });
  fill_norms(factor);
  return factor;
}

std::vector<numbers::Dyadic> Factor::exact_row(std::int64_t i) const {
  std::vector<numbers::Dyadic> result;
  if (!of || is_exact(i)) {
    for (const double value : row(i)) result.emplace_back(value);
    return result;
  }
  const double* input = of->x.data() + i * of->hidden;
  std::vector<double> x;
  for (std::size_t c = 0; c < static_cast<std::size_t>(dim); ++c) {
    x.clear();
    for (std::size_t at = of->start[c]; at < of->start[c + 1]; ++at)
      x.push_back(input[of->row[at]]);
    result.push_back(numbers::exact_dot(std::span<const double>(x),
                                        std::span(of->weight).subspan(of->start[c], x.size())));
  }
  return result;
}

numbers::Dyadic Form::exact(std::int64_t i, std::int64_t j) const {
  if (q.is_exact(i) && k.is_exact(j)) return numbers::exact_dot(q.row(i), k.row(j));
  const std::vector<numbers::Dyadic> a = q.exact_row(i);
  const std::vector<numbers::Dyadic> b = k.exact_row(j);
  numbers::Dyadic sum;
  for (std::size_t c = 0; c < a.size(); ++c) sum = sum + a[c] * b[c];
  return sum;
}

/// Let q = q̂ + δ + ρ, where q̂ is the f64 value, δ the tail and ρ the rest, and k likewise. Then
/// q·k is (q̂ + δ)·(k̂ + δ'), which the compensated dot product of four times the length encloses,
/// plus what the rests can add.
numbers::Interval Form::enclose_products(std::int64_t i, std::int64_t j) const {
  const auto row = static_cast<std::size_t>(i);
  const auto key = static_cast<std::size_t>(j);
  const double rests = (q.norm[row] + q.off[row]) * k.rest[key] +
                       q.rest[row] * (k.norm[key] + k.off[key]) + 3 * q.rest[row] * k.rest[key];
  if (!std::isfinite(rests)) return outwards(exact(i, j));
  std::vector<double> a;
  std::vector<double> b;
  for (const auto* left : {&q.f64, &q.tail})
    for (const auto* right : {&k.f64, &k.tail}) {
      a.insert(a.end(), left->begin() + i * q.dim, left->begin() + (i + 1) * q.dim);
      b.insert(b.end(), right->begin() + j * q.dim, right->begin() + (j + 1) * q.dim);
    }
  const numbers::Interval middle =
      numbers::enclose_dot(std::span<const double>(a), std::span<const double>(b));
  const double wide = rests * (1 + 0x1p-40) + std::numeric_limits<double>::min();
  return {std::nextafter(middle.lo - wide, -infinity), std::nextafter(middle.hi + wide, infinity)};
}

numbers::Interval Form::enclose(std::int64_t i, std::int64_t j) const {
  if (q.is_exact(i) && k.is_exact(j)) return numbers::enclose_dot(q.row(i), k.row(j));
  return enclose_products(i, j);
}

}  // namespace tamis::lab::verification
