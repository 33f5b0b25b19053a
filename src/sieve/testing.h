// Hands the weights that sparse attention used to tests, which need them to check tau.
#pragma once

#include "sieve/look.h"
#include "sieve/raw.h"

namespace tamis::sieve {

/// The weight of token t for query i, head h is stored in element (i·query_heads + h)·tokens + t,
/// up to a factor for each row. Rows for which attention was dense are not written.
struct WeightsUsed {
  double* weight;
  std::int64_t tokens;
};

/// Like attend(), but also stores the weights.
void attend_telling(const Cache& cache, const Plan& plan, const QueryRows& queries,
                    std::span<const Budget> budgets, const AttendOptions& options,
                    Workspace& workspace, const Results& results, const WeightsUsed& weights);

/// The stages call these to store their weights where Problem::told points, relative to the
/// references of their spans. tell_block() takes rows × 128 weights of a block, tell_raw() rows of
/// the weights of all raw tokens, `stride` floats apart.
void tell_block(const Problem& problem, std::int64_t b, const float* weight);
void tell_raw(const Problem& problem, const float* weight, std::int64_t stride);
/// Makes the stored weights relative to the references of the rows.
void tell_references(const Problem& problem, const Look& look, const RawResult& raw,
                     std::span<const double> reference);

}  // namespace tamis::sieve
