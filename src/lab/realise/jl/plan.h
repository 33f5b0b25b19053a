// Plans how a draw of jl spends its work. The plan is a fixed rule of the problem's sizes and never
// depends on a clock, so the same seed gives the same bits everywhere. Costs microseconds.
#pragma once

#include <cstdint>

#include "lab/realise/jl/target.h"

namespace tamis::lab::realisation {

/// A draw first makes `columns` Gaussian columns, which show which rows are likely to fail. It then
/// draws up to `rows` of these rows one after the other from their conditional law, and completes
/// the projection only if all of them hold. The law of the draw is the same for every plan. All
/// columns and no rows is the lazy sampler of docs/jl.md, no columns and all rows the sequential
/// one.
struct JlPlan {
  std::int64_t columns = 0;
  std::int64_t rows = 0;
};

/// The rank that a draw works with. P of rank m and I − P of rank n − m serve equally well; draws
/// use the smaller one.
inline std::int64_t working_rank(std::int64_t n, std::int64_t m) { return m < n - m ? m : n - m; }

/// The largest `rows` for a number of columns. Each row uses up one dimension of the range and one
/// of the kernel. On the smaller side both parameters of the Beta law stay at ½ or more up to
/// there.
inline std::int64_t most_rows(std::int64_t n, std::int64_t m, std::int64_t columns) {
  const std::int64_t left = working_rank(n, m) - columns;
  return left < 0 ? 0 : left;
}

/// The probability that the row target.usual fails, by a Gaussian approximation of the law of its
/// logits.
double row_failure(const JlTarget& target, std::int64_t m);

/// The plan of least expected work under that approximation.
JlPlan jl_plan(const JlTarget& target, std::int64_t m);

}  // namespace tamis::lab::realisation
