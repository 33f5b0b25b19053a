#include "lab/realise/jl/plan.h"

#include <algorithm>
#include <cmath>

#include "lab/stats/special.h"

namespace tamis::lab::realisation {
namespace {

// Cycles per element of a vector on the development machine (Zen 3, AVX2). Only their ratios
// matter.
constexpr double normal_cost = 3.7;    // one column of normals, with its share in ordering the rows
constexpr double gram_cost = 0.045;    // one pair of columns
constexpr double order_cost = 8;       // finding the rows most likely to fail
constexpr double row_cost = 16;        // one row, apart from the following
constexpr double known_cost = 0.9;     // one row against one known vector
constexpr double project_cost = 0.15;  // projecting one vector off another
constexpr double check_cost = 0.2;     // one vector's share in the check of one row
constexpr double checked_rows = 12;    // average number of rows checked once a draw is complete
constexpr std::int64_t most_planned = 64;

double completion_cost(double rank, double columns, double rows) {
  const double left = rank - columns - rows;
  return left * (normal_cost + project_cost * (columns + 2 * rows) + gram_cost * left) +
         checked_rows * check_cost * rank + order_cost;
}

}  // namespace

double row_failure(const JlTarget& target, std::int64_t m) {
  const auto n = static_cast<double>(target.n);
  const auto rank = static_cast<double>(m);
  const double c = (1 - rank / n) / rank;  // variance of a logit off the support, for ‖b‖ = 1
  if (!(c > 0)) return 0;
  const JlTarget::Row& row = target.usual;
  const double entry = target.eps2 - target.log_eps1;
  const double off = std::sqrt(row.square * c);
  const double on = std::sqrt((row.square + entry * entry) * c);
  constexpr int points = 64;
  double fails = 0;
  // Averages over the quantiles of the least logit of the row's least entries.
  for (int i = 0; i < points; ++i) {
    const double q = (i + 0.5) / points;
    const double least =
        entry - on * stats::normal_tail_quantile(1 - std::pow(1 - q, 1 / row.lowest));
    fails -=
        std::expm1(row.others * std::log1p(-stats::normal_tail((least + target.log_eps1) / off)));
  }
  const double apart =
      std::min(1.0, 2 * stats::normal_tail(target.eps2 / (2 * off / std::sqrt(row.nonzeros))));
  return 1 - (1 - fails / points) * std::pow(1 - apart, 0.5 * row.nonzeros * (row.nonzeros - 1));
}

JlPlan jl_plan(const JlTarget& target, std::int64_t m) {
  const std::int64_t n = target.n;
  const std::int64_t rank = working_rank(n, m);
  const double p = std::clamp(row_failure(target, m), 1e-12, 1 - 1e-12);
  const double z = stats::normal_tail_quantile(p);
  // How well the norms of the known part predict which rows fail, as a correlation.
  const double quality = target.usual.nonzeros < 1.5 ? 0.8 : 0.65;
  JlPlan best{rank, 0};
  double least = completion_cost(static_cast<double>(rank), 0, 0);
  for (std::int64_t columns = 0; columns < rank; columns += columns < 32 ? 4 : columns / 8) {
    const double known =
        quality * std::sqrt(static_cast<double>(columns) / static_cast<double>(rank));
    double cost =
        static_cast<double>(columns) * (normal_cost + gram_cost * static_cast<double>(columns));
    if (columns > 0) cost += order_cost;
    double alive = 1;
    std::int64_t rows = 0;
    const std::int64_t most = std::min(most_planned, most_rows(n, m, columns));
    for (; rows < most; ++rows) {
      const double place =
          stats::normal_tail_quantile((static_cast<double>(rows) + 0.6) / static_cast<double>(n));
      const double fails =
          columns == 0 ? p : stats::normal_tail((z - known * place) / std::sqrt(1 - known * known));
      const double row = row_cost + known_cost * static_cast<double>(columns + 2 * rows);
      const double rest = completion_cost(static_cast<double>(rank), static_cast<double>(columns),
                                          static_cast<double>(rows));
      if (fails * rest < row) break;
      cost += alive * row;
      alive *= 1 - fails;
    }
    cost += alive * completion_cost(static_cast<double>(rank), static_cast<double>(columns),
                                    static_cast<double>(rows));
    if (cost < least) {
      least = cost;
      best = {columns, rows};
    }
  }
  return best;
}

}  // namespace tamis::lab::realisation
