#include "support/lab/lines.h"

#include <algorithm>
#include <numeric>

#include <tamis/lab/verify.h>
#include "support/lab/relations.h"

namespace tamis::test {
namespace {

std::vector<std::int64_t> shuffled(Dice& dice, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[dice.below(i + 1)]);
  return order;
}

Matrix empty_matrix(std::int64_t rows, std::int64_t cols) {
  return {rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
}

double& entry(Matrix& matrix, std::int64_t i, std::int64_t j) {
  return matrix.values[static_cast<std::size_t>(i * matrix.cols + j)];
}

void clear_row(Matrix& matrix, std::int64_t row) {
  for (std::int64_t j = 0; j < matrix.cols; ++j) entry(matrix, row, j) = 0;
}

/// Fills a row with the first `size` columns of the order, or with the last.
void fill_row(Matrix& matrix, std::int64_t row, const std::vector<std::int64_t>& order,
              std::int64_t size, bool from_front) {
  clear_row(matrix, row);
  for (std::int64_t t = 0; t < size; ++t)
    entry(matrix, row, from_front ? order[t] : order[std::ssize(order) - 1 - t]) = 1;
}

std::int64_t random_size(Dice& dice, std::int64_t cols) {
  return dice.below(8) == 0 ? cols : 1 + dice.below(std::max<std::int64_t>(cols - 1, 1));
}

Matrix line_along(Dice& dice, std::int64_t rows, const std::vector<std::int64_t>& order) {
  Matrix matrix = empty_matrix(rows, std::ssize(order));
  for (std::int64_t i = 0; i < rows; ++i)
    fill_row(matrix, i, order, random_size(dice, matrix.cols), dice.coin());
  return matrix;
}

/// Divides the columns among four parts, none of them empty, and makes each of these rows a
/// union of parts.
void plant_rows(Dice& dice, Matrix& matrix, const std::vector<std::vector<int>>& parts_of_row) {
  const std::vector<std::int64_t> columns = shuffled(dice, matrix.cols);
  const std::vector<std::int64_t> rows = shuffled(dice, matrix.rows);
  for (std::size_t r = 0; r < parts_of_row.size(); ++r) clear_row(matrix, rows[r]);
  for (std::size_t t = 0; t < columns.size(); ++t) {
    const int part = t < 4 ? static_cast<int>(t) : static_cast<int>(dice.below(4));
    for (std::size_t r = 0; r < parts_of_row.size(); ++r)
      if (std::ranges::count(parts_of_row[r], part) > 0) entry(matrix, rows[r], columns[t]) = 1;
  }
}

std::string flaw_of_witness(const lab::Pattern& pattern, const lab::Witness& witness,
                            std::optional<std::int64_t> hidden) {
  using Shape = std::vector<std::int64_t>;
  const bool tied = hidden == 1;
  if (witness.has_inputs() != tied || witness.has_queries() == tied) return "it has the other form";
  if (tied ? witness.x.info().shape != Shape{pattern.rows, 1} ||
                 witness.w_q.info().shape != Shape{1, 1} || witness.w_k.info().shape != Shape{1, 1}
           : witness.q.info().shape != Shape{pattern.rows, 1} ||
                 witness.k.info().shape != Shape{pattern.cols, 1})
    return "it has other shapes than one column";
  if (!witness.made_for.weak || witness.made_by.at("method") != "line")
    return "it does not say what it is";
  return lab::verify(pattern, witness, witness.made_for, 1).holds() ? "" : "it does not hold";
}

}  // namespace

lab::Pattern pattern_of(const RowSets& rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Matrix matrix = empty_matrix(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) entry(matrix, i, j) = (rows[i] >> j) & 1U;
  return pattern_of(matrix);
}

Matrix planted_line(Dice& dice, std::int64_t rows, std::int64_t cols) {
  return line_along(dice, rows, shuffled(dice, cols));
}

Matrix planted_product(Dice& dice, std::int64_t n) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(dice.normal());
  const double c = dice.coin() ? 1 : -1;
  std::vector<std::int64_t> order = shuffled(dice, n);
  Matrix matrix = empty_matrix(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::ranges::sort(order, [&](auto a, auto b) { return c * x[i] * x[a] > c * x[i] * x[b]; });
    fill_row(matrix, i, order, random_size(dice, n), true);
  }
  return matrix;
}

Matrix planted_crossing(Dice& dice, std::int64_t rows, std::int64_t cols) {
  Matrix matrix = planted_line(dice, rows, cols);
  plant_rows(dice, matrix, {{0, 1}, {0, 2}});
  return matrix;
}

Matrix planted_triple(Dice& dice, std::int64_t rows, std::int64_t cols) {
  Matrix matrix = planted_line(dice, rows, cols);
  plant_rows(dice, matrix, {{0}, {1}, dice.coin() ? std::vector{0, 1, 2} : std::vector{2}});
  return matrix;
}

Matrix planted_conflict(Dice& dice, std::int64_t n) {
  const std::vector<std::int64_t> order = shuffled(dice, n);
  Matrix matrix = line_along(dice, n, order);
  // Three places of the order. The first and the last row are upper sets and the middle one is
  // a lower set; the cuts lie between the first and the middle place and between the middle
  // and the last.
  const std::int64_t middle = 1 + dice.below(n - 2);
  const std::int64_t first = dice.below(middle);
  const std::int64_t last = middle + 1 + dice.below(n - middle - 1);
  const auto between = [&](std::int64_t a, std::int64_t b) { return a + 1 + dice.below(b - a); };
  fill_row(matrix, order[first], order, between(first, middle), true);
  fill_row(matrix, order[last], order, between(middle, last), true);
  fill_row(matrix, order[middle], order, 1 + dice.below(n - 1), false);
  return matrix;
}

std::string flaw_of(const lab::Pattern& pattern,
                    const std::variant<lab::Witness, lab::Refutation>& answer,
                    std::optional<std::int64_t> hidden) {
  if (const auto* witness = std::get_if<lab::Witness>(&answer))
    return flaw_of_witness(pattern, *witness, hidden);
  return flaw_of(pattern, std::get<lab::Refutation>(answer));
}

}  // namespace tamis::test
