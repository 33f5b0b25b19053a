#include "lab/realise/curve/row_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tamis::lab::realisation {
namespace {

std::vector<float> to_f32(std::span<const double> values) {
  std::vector<float> result;
  for (const double x : values) result.push_back(static_cast<float>(x));
  return result;
}

std::vector<double> to_f64(std::span<const float> values) { return {values.begin(), values.end()}; }

double norm_of(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

}  // namespace

RowTrial::RowTrial(const Pattern& pattern, const Conditions& conditions,
                   std::span<const double> keys, std::int64_t dim)
    : pattern_(pattern),
      conditions_(conditions),
      f64_(keys, pattern.cols, dim),
      f32_(to_f32(keys), pattern.cols, dim),
      rounded_(to_f64(to_f32(keys)), pattern.cols, dim) {
  const auto width = static_cast<std::size_t>(dim);
  for (std::size_t first = 0; first < keys.size(); first += width)
    key_norm_ = std::max(key_norm_, norm_of(keys.subspan(first, width)));
}

/// Bounds the rounding error of a condition. A difference of two computed logits is within
/// 2·γ_m·‖q‖‖k‖ of the exact one; the rest covers the norms of rounded numbers and the logarithms
/// in `margin`.
double RowTrial::off(std::span<const double> query) const {
  return static_cast<double>(query.size() + 4) * 0x1p-52 * norm_of(query) * key_norm_ + 0x1p-40;
}

template <class T>
double RowTrial::margin(std::int64_t i, std::span<const T> logits) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto columns = pattern_.columns_of(i);
  const auto values = pattern_.values_of(i);
  double low = infinity;
  double least = infinity;
  double most = -infinity;
  for (std::size_t s = 0; s < columns.size(); ++s) {
    const double logit = logits[static_cast<std::size_t>(columns[s])];
    const double level = logit - std::log(values[s]);
    low = std::min(low, logit);
    least = std::min(least, level);
    most = std::max(most, level);
  }
  double top = -infinity;
  auto nonzero = columns.begin();
  for (std::int64_t j = 0; j < std::ssize(logits); ++j) {
    if (nonzero != columns.end() && *nonzero == j) {
      ++nonzero;
      continue;
    }
    top = std::max(top, static_cast<double>(logits[static_cast<std::size_t>(j)]));
  }
  if (conditions_.weak) return low - top;
  return std::min(std::log(conditions_.eps1) - (top - low), conditions_.eps2 - (most - least));
}

bool RowTrial::holds(std::int64_t i, std::span<const double> query, Scratch& scratch) const {
  const std::int64_t seen = conditions_.causal ? i + 1 : pattern_.cols;
  scratch.f64.resize(static_cast<std::size_t>(f64_.padded()));
  f64_.multiply(query, seen, scratch.f64.data());
  return margin<double>(i, std::span(scratch.f64).first(static_cast<std::size_t>(seen))) >
         off(query);
}

bool RowTrial::holds_in_f32(std::int64_t i, std::span<const double> query, Scratch& scratch) const {
  const std::int64_t seen = conditions_.causal ? i + 1 : pattern_.cols;
  const auto width = static_cast<std::size_t>(seen);
  scratch.f32.resize(static_cast<std::size_t>(f32_.padded()));
  scratch.rounded.resize(static_cast<std::size_t>(f64_.padded()));
  scratch.query = to_f32(query);
  f32_.multiply(scratch.query, seen, scratch.f32.data());
  if (!(margin<float>(i, std::span(scratch.f32).first(width)) > 0x1p-40)) return false;
  rounded_.multiply(to_f64(scratch.query), seen, scratch.rounded.data());
  return margin<double>(i, std::span(scratch.rounded).first(width)) > off(query) &&
         holds(i, query, scratch);
}

}  // namespace tamis::lab::realisation
