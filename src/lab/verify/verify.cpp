// Verification checks sizes and conditions first, then every row of every form, in blocks of rows
// that do not depend on the number of threads.
#include <tamis/lab/verify.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/pattern/checks.h"
#include "lab/verify/rounding.h"
#include "lab/verify/row.h"
#include "lab/verify/witness_checks.h"

namespace tamis::lab {
namespace {

void expect_rows(const char* tensor, const Tensor& held, std::int64_t wanted, const char* what) {
  const std::int64_t rows = held.info().shape[0];
  if (rows != wanted)
    core::fail(
        Code::input,
        "tensor '{}' of the witness has {} rows and the pattern has {} {}; they must be as many",
        tensor, rows, wanted, what);
}

void check_sizes(const Pattern& pattern, const Witness& witness, const Conditions& conditions) {
  if (witness.has_queries()) {
    expect_rows("q", witness.q, pattern.rows, "rows");
    expect_rows("k", witness.k, pattern.cols, "columns");
  }
  if (witness.has_inputs()) {
    if (pattern.rows != pattern.cols)
      core::fail(Code::input,
                 "the pattern is {} × {}; a witness of x, w_q and w_k needs a square one",
                 pattern.rows, pattern.cols);
    expect_rows("x", witness.x, pattern.rows, "rows");
  }
  if (conditions.causal) pattern::check_causal(pattern);
}

/// The combined verdict on consecutive rows.
struct Part {
  std::array<Checked, 3> in;
  double max_logit = 0;

  Part() {
    for (Checked& checked : in) checked.margin = std::numeric_limits<double>::infinity();
  }
  void add(std::int64_t row, const verification::CheckedRow& result) {
    for (std::size_t a = 0; a < in.size(); ++a) {
      const verification::RowVerdict& verdict = result.in[a];
      if (verdict.margin < in[a].margin) {
        in[a].margin = verdict.margin;
        in[a].worst_row = row;
      }
      if (!verdict.holds()) ++in[a].failing_rows;
    }
    max_logit = std::max(max_logit, result.max_logit);
  }
  void add(const Part& later) {
    for (std::size_t a = 0; a < in.size(); ++a) {
      if (later.in[a].margin < in[a].margin) {
        in[a].margin = later.in[a].margin;
        in[a].worst_row = later.in[a].worst_row;
      }
      in[a].failing_rows += later.in[a].failing_rows;
    }
    max_logit = std::max(max_logit, later.max_logit);
  }
};

/// Checks one row in all forms and returns the worst margins.
verification::CheckedRow scan_row(const std::deque<verification::Prepared>& forms,
                                  const verification::Judge& judge, verification::RowScan& scan,
                                  const Pattern& pattern, std::int64_t row, bool causal) {
  verification::CheckedRow worst;
  for (const verification::Prepared& form : forms) {
    const verification::CheckedRow result =
        scan.scan(form, judge, row, causal ? row + 1 : pattern.cols, pattern.columns_of(row),
                  pattern.values_of(row));
    for (std::size_t a = 0; a < worst.in.size(); ++a)
      worst.in[a].margin = std::min(worst.in[a].margin, result.in[a].margin);
    worst.max_logit = std::max(worst.max_logit, result.max_logit);
  }
  return worst;
}

/// A length as factor · 2^exponent, which neither overflows nor underflows.
struct Length {
  double factor = 0;
  int exponent = 0;
};

/// The norm of the longest row; infinite if a row is not finite.
Length largest_norm(const verification::Factor& factor) {
  double largest = 0;
  for (std::int64_t i = 0; i < factor.rows; ++i)
    for (const double x : factor.row(i)) {
      if (!std::isfinite(x)) return {std::numeric_limits<double>::infinity(), 0};
      largest = std::max(largest, std::abs(x));
    }
  if (largest == 0) return {};
  const int exponent = std::ilogb(largest);
  double square = 0;
  for (std::int64_t i = 0; i < factor.rows; ++i) {
    double sum = 0;
    for (const double x : factor.row(i)) {
      const double scaled = std::ldexp(x, -exponent);
      sum += scaled * scaled;
    }
    square = std::max(square, sum);
  }
  return {std::sqrt(square), exponent};
}

/// The product, which is 0 if one of the lengths is 0, even if the other is infinite.
double product_of(const Length& a, const Length& b) {
  if (a.factor == 0 || b.factor == 0) return 0;
  return std::ldexp(a.factor * b.factor, a.exponent + b.exponent);
}

/// The number of rows that one thread takes at a time, which cost about a million multiply-adds.
std::int64_t rows_per_item(const std::deque<verification::Prepared>& forms) {
  double work = 0;
  for (const verification::Prepared& prepared : forms)
    work += static_cast<double>(prepared.form.k.rows) * static_cast<double>(prepared.form.k.dim);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(1e6 / work));
}

}  // namespace

const char* name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::f32:
      return "f32";
    case Arithmetic::f64:
      return "f64";
    default:
      return "exact";
  }
}

Verification verify(const Pattern& pattern, const Witness& witness, const Conditions& conditions,
                    int threads, const ProgressCallback& progress) {
  const verification::PlainRounding rounding;
  check_conditions(conditions);
  pattern::check_pattern(pattern);
  verification::check_witness("the witness", witness);
  check_sizes(pattern, witness, conditions);
  threads = core::thread_count(threads);

  const verification::Judge judge(pattern, conditions, threads);
  std::deque<verification::Prepared> forms;
  if (witness.has_queries())
    forms.emplace_back(verification::Form{verification::given_factor(witness.q),
                                          verification::given_factor(witness.k)});
  if (witness.has_inputs())
    forms.emplace_back(
        verification::Form{verification::product_factor(witness.x, witness.w_q, threads),
                           verification::product_factor(witness.x, witness.w_k, threads)});

  constexpr std::int64_t items_per_report = 64;
  const std::int64_t rows_each = rows_per_item(forms);
  std::vector<verification::RowScan> scans(static_cast<std::size_t>(threads));
  std::vector<Part> parts(items_per_report);
  Part all;
  for (std::int64_t first = 0; first < pattern.rows; first += items_per_report * rows_each) {
    const std::int64_t rows = std::min(pattern.rows - first, items_per_report * rows_each);
    const std::int64_t items = (rows + rows_each - 1) / rows_each;
    core::parallel_for(items, threads, [&](std::int64_t item, int worker) {
      const verification::PlainRounding here;
      Part part;
      const std::int64_t begin = first + item * rows_each;
      for (std::int64_t row = begin; row < std::min(begin + rows_each, first + rows); ++row)
        part.add(row, scan_row(forms, judge, scans[static_cast<std::size_t>(worker)], pattern, row,
                               conditions.causal));
      parts[static_cast<std::size_t>(item)] = part;
    });
    for (std::int64_t item = 0; item < items; ++item)
      all.add(parts[static_cast<std::size_t>(item)]);
    if (progress && !progress(static_cast<double>(first + rows), static_cast<double>(pattern.rows)))
      core::fail(Code::cancelled, "verification was stopped after {} of {} rows", first + rows,
                 pattern.rows);
  }

  Verification result;
  result.in = all.in;
  for (Checked& checked : result.in) checked.holds = checked.failing_rows == 0;
  result.max_logit = all.max_logit;
  for (const verification::Prepared& prepared : forms)
    result.norm_product = std::max(result.norm_product, product_of(largest_norm(prepared.form.q),
                                                                   largest_norm(prepared.form.k)));
  return result;
}

}  // namespace tamis::lab
