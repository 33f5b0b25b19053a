// How a draw of jl spends its work: a fixed rule from the problem's sizes, never from a clock, so
// that the same seed gives the same bits everywhere. Costs microseconds.
#pragma once

#include <cstdint>

#include "lab/realise/jl/target.h"

namespace tamis::lab::realisation {

/// `columns` Gaussian columns are drawn first and say which rows look likely to fail; up to `rows`
/// of those are then drawn one after the other from their conditional law, and only what survives
/// is completed. The law of the draw is the same for every plan: all columns and no rows is the
/// lazy sampler, no columns and all rows the sequential one.
struct JlPlan {
  std::int64_t columns = 0;
  std::int64_t rows = 0;
};

/// A rank-m projection and I minus it serve alike; draws work on the side of fewer dimensions.
inline std::int64_t working_rank(std::int64_t n, std::int64_t m) { return m < n - m ? m : n - m; }

/// The largest `rows` for so many columns: each row settles one dimension on both sides. On the
/// smaller side no parameter of the Beta law gets below ½ before that.
inline std::int64_t most_rows(std::int64_t n, std::int64_t m, std::int64_t columns) {
  const std::int64_t left = working_rank(n, m) - columns;
  return left < 0 ? 0 : left;
}

/// How likely the row target.usual fails, by a Gaussian approximation of the law of its logits.
double row_failure(const JlTarget& target, std::int64_t m);

/// The plan of least expected work under that approximation.
JlPlan jl_plan(const JlTarget& target, std::int64_t m);

}  // namespace tamis::lab::realisation
