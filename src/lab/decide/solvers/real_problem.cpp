#include "lab/decide/solvers/real_problem.h"

#include <fmt/format.h>

#include <numeric>

#include "lab/numbers/random.h"

namespace tamis::lab::decision {

std::string problem_comment(const Pattern& pattern, std::int64_t dim,
                            std::optional<std::int64_t> hidden) {
  std::string text = fmt::format(
      "; Are there queries and keys of {} columns{} such that in every row of the pattern below "
      "the logits of\n"
      "; its ones are above those of its zeros? unsat means: there are none.\n",
      dim, hidden ? fmt::format(", made from inputs of {} columns,", *hidden) : "");
  for (std::int64_t row = 0; row < pattern.rows; ++row) {
    std::string digits(static_cast<std::size_t>(pattern.cols), '0');
    for (const std::int64_t column : pattern.columns_of(row))
      digits[static_cast<std::size_t>(column)] = '1';
    text += fmt::format(";   row {}: {}\n", row, digits);
  }
  return text;
}

std::vector<std::int64_t> attempt_order(std::int64_t n, std::uint64_t attempt) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (attempt == 0) return order;
  const numbers::Stream stream(0, numbers::Purpose::order, attempt);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[stream.below(i, static_cast<std::uint32_t>(i))]);
  return order;
}

}  // namespace tamis::lab::decision
