#include "support/lab/witnesses.h"

#include <fmt/format.h>

#include <gmpxx.h>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "lab/numbers/exact.h"

namespace tamis::test {

lab::Tensor tensor_of(const Matrix& matrix, DType dtype) {
  lab::Tensor tensor(lab::TensorInfo{"", dtype, {matrix.rows, matrix.cols}});
  for (std::size_t i = 0; i < matrix.values.size(); ++i) {
    const double wide = matrix.values[i];
    const auto narrow = static_cast<float>(wide);
    if (dtype == DType::f64)
      std::memcpy(tensor.bytes().data() + 8 * i, &wide, 8);
    else
      std::memcpy(tensor.bytes().data() + 4 * i, &narrow, 4);
  }
  return tensor;
}

Matrix matrix_of(const lab::Tensor& tensor) {
  return {tensor.info().shape[0], tensor.info().shape[1], tensor.to_f64()};
}

lab::Witness witness_of(const Matrix& q, const Matrix& k, DType dtype) {
  lab::Witness witness;
  witness.q = tensor_of(q, dtype);
  witness.k = tensor_of(k, dtype);
  return witness;
}

std::string arithmetic_shortfall(const lab::Verification& verification) {
  std::string clause;
  for (const lab::Arithmetic arithmetic :
       {lab::Arithmetic::f32, lab::Arithmetic::f64, lab::Arithmetic::exact}) {
    const lab::Checked& checked = verification[arithmetic];
    if (checked.holds) continue;
    clause += fmt::format(
        "{}{} cannot hold the margin ({} {}, row {} by {:.3g})", clause.empty() ? "" : "; ",
        arithmetic == lab::Arithmetic::exact ? "the rounded numbers themselves"
                                             : lab::name_of(arithmetic),
        checked.failing_rows, checked.failing_rows == 1 ? "row fails" : "rows fail",
        checked.worst_row, -checked.margin);
  }
  return clause;
}

lab::Pattern pattern_of(const Matrix& matrix) {
  lab::Pattern pattern;
  pattern.rows = matrix.rows;
  pattern.cols = matrix.cols;
  pattern.row_start.push_back(0);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
      if (matrix(i, j) == 0) continue;
      pattern.column.push_back(j);
      pattern.value.push_back(matrix(i, j));
    }
    pattern.row_start.push_back(pattern.nonzeros());
  }
  return pattern;
}

namespace {

enum class Numbers { whole, ordinary, extreme, cancelling };

double random_number(Dice& dice, Numbers kind, DType dtype) {
  if (kind == Numbers::whole) return static_cast<double>(dice.below(7) - 3);
  if (kind == Numbers::ordinary) return 2 * dice.normal();
  // The large terms of these sums cancel, or nearly cancel, and leave less than the last
  // digit of f64.
  if (kind == Numbers::cancelling)
    return std::ldexp(static_cast<double>(dice.below(3) - 1),
                      std::array{0, 0, 45, 54}[static_cast<std::size_t>(dice.below(4))]);
  const std::int64_t reach = dtype == DType::f32 ? 120 : 1000;
  return std::ldexp(dice.normal(), static_cast<int>(dice.below(2 * reach) - reach));
}

lab::Tensor random_tensor(Dice& dice, std::int64_t rows, std::int64_t cols, Numbers kind) {
  const DType dtype = dice.coin() ? DType::f32 : DType::f64;
  Matrix matrix{rows, cols, {}};
  for (std::int64_t i = 0; i < rows * cols; ++i)
    matrix.values.push_back(random_number(dice, kind, dtype));
  return tensor_of(matrix, dtype);
}

/// Selection matrices, as in the paper, or matrices of any numbers.
lab::Tensor random_weights(Dice& dice, std::int64_t hidden, std::int64_t dim, Numbers kind) {
  if (dice.coin()) return random_tensor(dice, hidden, dim, kind);
  Matrix matrix{hidden, dim, std::vector<double>(static_cast<std::size_t>(hidden * dim))};
  for (std::int64_t c = 0; c < dim; ++c)
    matrix.values[static_cast<std::size_t>(dice.below(hidden) * dim + c)] = 1;
  return tensor_of(matrix, DType::f64);
}

lab::Pattern random_pattern(Dice& dice, std::int64_t rows, std::int64_t cols, bool causal) {
  constexpr std::array values{1.0, 1.0, 2.0, 0.5, 3.7, 1e-300, 5e-324, 1e300};
  const std::int64_t kinds = dice.coin() ? 2 : std::ssize(values);
  Matrix matrix{rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t seen = causal ? i + 1 : cols;
    const std::int64_t sure = dice.below(seen);
    for (std::int64_t j = 0; j < seen; ++j)
      if (j == sure || dice.below(3) == 0)
        matrix.values[static_cast<std::size_t>(i * cols + j)] =
            values[static_cast<std::size_t>(dice.below(kinds))];
  }
  return pattern_of(matrix);
}

}  // namespace

VerifyCase random_case(std::uint64_t seed) {
  Dice dice(seed);
  VerifyCase result;
  const auto kind = static_cast<Numbers>(dice.below(4));
  const std::int64_t form = dice.below(4);  // q and k are twice as likely as inputs or both
  result.conditions.causal = dice.coin();
  result.conditions.weak = dice.below(3) == 0;
  result.conditions.eps1 = dice.coin() ? 0.1 : 0.999;
  result.conditions.eps2 =
      std::array{1.0, 2.0, 0.25, 700.0}[static_cast<std::size_t>(dice.below(4))];
  const std::int64_t rows = 1 + dice.below(6);
  const std::int64_t cols = form >= 2 || result.conditions.causal ? rows : 1 + dice.below(40);
  const std::int64_t dim = 1 + dice.below(4);
  result.pattern = random_pattern(dice, rows, cols, result.conditions.causal);
  if (form != 2) {
    result.witness.q = random_tensor(dice, rows, dim, kind);
    result.witness.k = random_tensor(dice, cols, dim, kind);
  }
  if (form >= 2) {
    // Products of four numbers must be nearer to one, so that not every logit overflows.
    const Numbers inner = kind == Numbers::extreme ? Numbers::ordinary : kind;
    const std::int64_t hidden = 1 + dice.below(4);
    result.witness.x = random_tensor(dice, rows, hidden, kind);
    result.witness.w_q = random_weights(dice, hidden, dim, inner);
    result.witness.w_k = random_weights(dice, hidden, dim, inner);
  }
  return result;
}

namespace {

template <class T>
Matrix plain_product(const Matrix& a, const Matrix& b, bool transposed) {
  Matrix c{a.rows, transposed ? b.rows : b.cols, {}};
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.cols; ++j) {
      T sum = 0;
      for (std::int64_t h = 0; h < a.cols; ++h)
        sum += static_cast<T>(a(i, h)) * static_cast<T>(transposed ? b(j, h) : b(h, j));
      c.values.push_back(static_cast<double>(sum));
    }
  return c;
}

std::vector<mpq_class> rational_product(const std::vector<mpq_class>& a,
                                        const std::vector<mpq_class>& b, std::int64_t rows,
                                        std::int64_t inner, std::int64_t cols, bool transposed) {
  std::vector<mpq_class> c;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      mpq_class sum = 0;
      for (std::int64_t h = 0; h < inner; ++h)
        sum += a[static_cast<std::size_t>(i * inner + h)] *
               b[static_cast<std::size_t>(transposed ? j * inner + h : h * cols + j)];
      c.push_back(sum);
    }
  return c;
}

std::vector<mpq_class> rationals_of(const lab::Tensor& tensor) {
  std::vector<mpq_class> result;
  for (const double x : tensor.to_f64()) result.emplace_back(x);
  return result;
}

/// The logits of one form as rationals, with no value for logits that are not finite.
std::vector<std::optional<mpq_class>> logits_of(const lab::Witness& w, bool inputs,
                                                lab::Arithmetic arithmetic) {
  std::vector<std::optional<mpq_class>> result;
  if (arithmetic == lab::Arithmetic::exact) {
    std::vector<mpq_class> q;
    std::vector<mpq_class> k;
    const std::int64_t dim = inputs ? w.w_q.info().shape[1] : w.q.info().shape[1];
    const std::int64_t rows = inputs ? w.x.info().shape[0] : w.q.info().shape[0];
    const std::int64_t cols = inputs ? rows : w.k.info().shape[0];
    if (inputs) {
      const std::int64_t hidden = w.x.info().shape[1];
      q = rational_product(rationals_of(w.x), rationals_of(w.w_q), rows, hidden, dim, false);
      k = rational_product(rationals_of(w.x), rationals_of(w.w_k), rows, hidden, dim, false);
    } else {
      q = rationals_of(w.q);
      k = rationals_of(w.k);
    }
    for (mpq_class& x : rational_product(q, k, rows, dim, cols, true)) result.emplace_back(x);
    return result;
  }
  const auto product =
      arithmetic == lab::Arithmetic::f32 ? plain_product<float> : plain_product<double>;
  const Matrix q = inputs ? product(matrix_of(w.x), matrix_of(w.w_q), false) : matrix_of(w.q);
  const Matrix k = inputs ? product(matrix_of(w.x), matrix_of(w.w_k), false) : matrix_of(w.k);
  for (const double x : product(q, k, true).values)
    result.push_back(std::isfinite(x) ? std::optional<mpq_class>(x) : std::nullopt);
  return result;
}

/// log x − gap + bound, computed with 400 bits. That precision decides every sign here except
/// exact zeros, which occur only where x = 1.
double slack_of(const mpq_class& gap, const mpq_class& x, const mpq_class& bound) {
  if (x == 1) {
    const mpq_class slack = bound - gap;
    if (sgn(slack) == 0) return 0;
  }
  mpfr_t log;
  mpfr_t rest;
  mpfr_inits2(400, log, rest, nullptr);
  mpfr_set_q(log, x.get_mpq_t(), MPFR_RNDN);
  mpfr_log(log, log, MPFR_RNDN);
  mpfr_set_q(rest, mpq_class(bound - gap).get_mpq_t(), MPFR_RNDN);
  mpfr_add(log, log, rest, MPFR_RNDN);
  double result = mpfr_get_d(log, MPFR_RNDZ);
  if (result == 0) result = std::copysign(std::numeric_limits<double>::denorm_min(), mpfr_sgn(log));
  mpfr_clears(log, rest, nullptr);
  return result;
}

double row_margin(const VerifyCase& given, const std::vector<std::optional<mpq_class>>& logits,
                  std::int64_t row) {
  const lab::Pattern& pattern = given.pattern;
  const lab::Conditions& conditions = given.conditions;
  const std::int64_t seen = conditions.causal ? row + 1 : pattern.cols;
  std::vector<double> value(static_cast<std::size_t>(pattern.cols));
  for (std::size_t s = 0; s < pattern.columns_of(row).size(); ++s)
    value[static_cast<std::size_t>(pattern.columns_of(row)[s])] = pattern.values_of(row)[s];
  double margin = std::numeric_limits<double>::infinity();
  const auto logit = [&](std::int64_t j) {
    return logits[static_cast<std::size_t>(row * pattern.cols + j)];
  };
  for (std::int64_t j = 0; j < seen; ++j)
    if (!logit(j)) return -std::numeric_limits<double>::infinity();
  for (std::int64_t a = 0; a < seen; ++a)
    for (std::int64_t b = 0; b < seen; ++b) {
      const double value_a = value[static_cast<std::size_t>(a)];
      const double value_b = value[static_cast<std::size_t>(b)];
      if (a == b || value_b == 0) continue;
      const mpq_class gap = *logit(a) - *logit(b);
      if (value_a == 0)
        margin = std::min(
            margin, slack_of(gap, conditions.weak ? mpq_class(1) : mpq_class(conditions.eps1), 0));
      else if (!conditions.weak)
        margin = std::min(margin, slack_of(gap, mpq_class(value_a) / mpq_class(value_b),
                                           mpq_class(conditions.eps2)));
    }
  return margin;
}

}  // namespace

lab::Checked naive_check(const VerifyCase& given, lab::Arithmetic arithmetic) {
  std::vector<std::vector<std::optional<mpq_class>>> forms;
  if (given.witness.has_queries()) forms.push_back(logits_of(given.witness, false, arithmetic));
  if (given.witness.has_inputs()) forms.push_back(logits_of(given.witness, true, arithmetic));
  lab::Checked checked;
  checked.margin = std::numeric_limits<double>::infinity();
  for (std::int64_t row = 0; row < given.pattern.rows; ++row) {
    double margin = std::numeric_limits<double>::infinity();
    for (const auto& logits : forms) margin = std::min(margin, row_margin(given, logits, row));
    if (margin < checked.margin) {
      checked.margin = margin;
      checked.worst_row = row;
    }
    if (!(margin > 0)) ++checked.failing_rows;
  }
  checked.holds = checked.failing_rows == 0;
  return checked;
}

double margin_tolerance(const VerifyCase& given, double margin) {
  double logs = 0;
  for (const double value : given.pattern.value) logs = std::max(logs, std::abs(std::log(value)));
  const double units = given.conditions.weak ? 0
                                             : given.conditions.eps2 +
                                                   std::abs(std::log(given.conditions.eps1)) + logs;
  return 0x1p-30 * std::abs(margin) + 0x1p-48 * units + std::numeric_limits<double>::denorm_min();
}

}  // namespace tamis::test
