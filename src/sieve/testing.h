// The weights that sparse attention used, for tests: tau can be checked against nothing else.
#pragma once

#include "sieve/look.h"
#include "sieve/raw.h"

namespace tamis::sieve {

/// Row (query i, head h), token t: element (i·query_heads + h)·tokens + t, up to a factor for each
/// row. Rows that were computed densely are left as they are.
struct WeightsUsed {
  double* weight;
  std::int64_t tokens;
};

/// As `attend`.
void attend_telling(const Cache& cache, const Plan& plan, const QueryRows& queries,
                    std::span<const Budget> budgets, const AttendOptions& options,
                    Workspace& workspace, const Results& results, const WeightsUsed& weights);

/// The stages put their weights where a problem that has `told` says, relative to the references of
/// their spans: those of a block, rows × 128, and those of raw tokens, rows of `stride`.
void tell_block(const Problem& problem, std::int64_t b, const float* weight);
void tell_raw(const Problem& problem, const float* weight, std::int64_t stride);
/// Makes them relative to the references of the rows.
void tell_references(const Problem& problem, const Look& look, const RawResult& raw,
                     std::span<const double> reference);

}  // namespace tamis::sieve
