#include "lab/verify/row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tamis/lab/verify.h>

namespace tamis::lab::verification {
namespace {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

/// The largest of `padded` values, a multiple of `lanes`. Each lane has its own maximum, because
/// the compiler may not reorder a single one.
template <class T, class Value>
T largest(std::int64_t padded, Value&& value) {
  T top[lanes];
  std::fill(top, top + lanes, -infinity<T>);
  for (std::int64_t first = 0; first < padded; first += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T x = value(first + l);
      top[l] = x > top[l] ? x : top[l];
    }
  return *std::max_element(top, top + lanes);
}

template <class T>
bool all_finite(const std::vector<T>& logits, std::int64_t padded) {
  T sticky[lanes] = {};  // x − x is 0 for finite x and NaN otherwise
  for (std::int64_t first = 0; first < padded; first += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T x = logits[static_cast<std::size_t>(first + l)];
      sticky[l] += x - x;
    }
  return std::all_of(sticky, sticky + lanes, [](T x) { return x == 0; });
}

std::int64_t padded(std::int64_t seen) { return (seen + lanes - 1) / lanes * lanes; }

/// Logits that were computed with rounding. The rounded numbers count as exact.
class RoundedLogits final : public ExactLogits {
 public:
  RoundedLogits(double top_zero, std::span<const numbers::Interval> nonzeros)
      : top_zero_(top_zero), nonzeros_(nonzeros) {}
  [[nodiscard]] numbers::Dyadic top_zero() const override { return numbers::Dyadic(top_zero_); }
  [[nodiscard]] numbers::Dyadic nonzero(std::size_t s) const override {
    return numbers::Dyadic(nonzeros_[s].lo);
  }

 private:
  double top_zero_;
  std::span<const numbers::Interval> nonzeros_;
};

/// The logits of a form in exact arithmetic. `rivals` are the zeros that can have the largest one.
class TrueLogits final : public ExactLogits {
 public:
  TrueLogits(const Form& form, std::int64_t i, std::span<const std::int64_t> columns,
             std::span<const std::int64_t> rivals)
      : form_(form), i_(i), columns_(columns), rivals_(rivals) {}
  [[nodiscard]] numbers::Dyadic top_zero() const override {
    numbers::Dyadic top = form_.exact(i_, rivals_.front());
    for (const std::int64_t j : rivals_.subspan(1)) {
      const numbers::Dyadic other = form_.exact(i_, j);
      if (other > top) top = other;
    }
    return top;
  }
  [[nodiscard]] numbers::Dyadic nonzero(std::size_t s) const override {
    return form_.exact(i_, columns_[s]);
  }

 private:
  const Form& form_;
  std::int64_t i_;
  std::span<const std::int64_t> columns_;
  std::span<const std::int64_t> rivals_;
};

}  // namespace

Prepared::Prepared(Form form_)
    : form(std::move(form_)),
      f32(form.k.f32, form.k.rows, form.k.dim),
      f64(form.k.f64, form.k.rows, form.k.dim),
      bounds(form) {}

template <class T>
RowVerdict RowScan::judge_numbers(const Judge& judge, std::vector<T>& logits, std::int64_t seen,
                                  std::span<const std::int64_t> columns,
                                  std::span<const double> values) {
  const bool has_zero = std::ssize(columns) < seen;
  std::fill(logits.begin() + seen, logits.begin() + padded(seen), T{0});  // unseen keys and padding
  if (!all_finite(logits, padded(seen))) return {-infinity<double>};
  nonzeros_.clear();
  for (const std::int64_t j : columns) {
    const double logit = logits[static_cast<std::size_t>(j)];
    nonzeros_.push_back({logit, logit});
  }
  // From here on only the zeros of the row have finite logits.
  for (const std::int64_t j : columns) logits[static_cast<std::size_t>(j)] = -infinity<T>;
  std::fill(logits.begin() + seen, logits.begin() + padded(seen), -infinity<T>);
  const double top = largest<T>(
      padded(seen), [&logits](std::int64_t j) { return logits[static_cast<std::size_t>(j)]; });
  return judge.judge({has_zero, {top, top}, nonzeros_, RoundedLogits(top, nonzeros_)}, values);
}

/// Requires that f64_ holds the logits of zeros, and −∞ elsewhere.
void RowScan::find_rivals(const Bounds& bounds, std::int64_t i, std::int64_t seen) {
  const double query = bounds.of_query(i);
  const double floor = bounds.floor();
  const double* keys = bounds.of_keys().data();
  const double* logits = f64_.data();
  const double least_top = largest<double>(
      padded(seen), [=](std::int64_t j) { return logits[j] - (query * keys[j] + floor); });
  for (std::int64_t j = 0; j < seen; ++j)
    if (logits[j] + (query * keys[j] + floor) >= least_top && logits[j] > -infinity<double>)
      rivals_.push_back(j);
}

RowVerdict RowScan::judge_exactly(const Form& form, const Judge& judge, std::int64_t i,
                                  std::span<const std::int64_t> columns,
                                  std::span<const double> values) {
  enclosed_.clear();
  numbers::Interval top{-infinity<double>, -infinity<double>};
  for (const std::int64_t j : rivals_) {
    enclosed_.push_back(form.enclose(i, j));
    top = {std::max(top.lo, enclosed_.back().lo), std::max(top.hi, enclosed_.back().hi)};
  }
  const bool has_zero = !rivals_.empty();
  std::size_t kept = 0;
  for (std::size_t r = 0; r < rivals_.size(); ++r)
    if (enclosed_[r].hi >= top.lo) rivals_[kept++] = rivals_[r];
  rivals_.resize(kept);
  nonzeros_.clear();
  for (const std::int64_t j : columns) nonzeros_.push_back(form.enclose(i, j));
  return judge.judge({has_zero, top, nonzeros_, TrueLogits(form, i, columns, rivals_)}, values);
}

CheckedRow RowScan::scan(const Prepared& prepared, const Judge& judge, std::int64_t i,
                         std::int64_t seen, std::span<const std::int64_t> columns,
                         std::span<const double> values) {
  const Form& form = prepared.form;
  f32_.resize(static_cast<std::size_t>(prepared.f32.padded()));
  f64_.resize(static_cast<std::size_t>(prepared.f64.padded()));
  CheckedRow result;
  prepared.f32.multiply(form.q.row_f32(i), seen, f32_.data());
  result.in[static_cast<std::size_t>(Arithmetic::f32)] =
      judge_numbers(judge, f32_, seen, columns, values);

  prepared.f64.multiply(form.q.row(i), seen, f64_.data());
  std::fill(f64_.begin() + seen, f64_.begin() + padded(seen), 0);
  const bool finite = all_finite(f64_, padded(seen));
  const double* logits = f64_.data();
  result.max_logit =
      finite ? largest<double>(padded(seen), [=](std::int64_t j) { return std::abs(logits[j]); })
             : infinity<double>;
  result.in[static_cast<std::size_t>(Arithmetic::f64)] =
      judge_numbers(judge, f64_, seen, columns, values);

  rivals_.clear();
  if (finite && prepared.bounds.hold(i)) {
    find_rivals(prepared.bounds, i, seen);
  } else {
    for (std::int64_t j = 0; j < seen; ++j)
      if (!std::ranges::binary_search(columns, j)) rivals_.push_back(j);
  }
  result.in[static_cast<std::size_t>(Arithmetic::exact)] =
      judge_exactly(form, judge, i, columns, values);
  return result;
}

}  // namespace tamis::lab::verification
