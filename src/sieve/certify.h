// From sums over parts to the output of each row and what it proves. Knows nothing of budgets.
#pragma once

#include "sieve/raw.h"
#include "sieve/visit.h"

namespace tamis::sieve {

/// Sums of a row over raw tokens and all spans, relative to one reference.
struct Total {
  double used = 0;
  double spread = 0;
  double product = 0;
  double dropped = 0;
  double vanished = 0;
};
Total total_of(const Problem& problem, const RawResult& raw, const Visits& visits, double reference,
               int r);
/// What is certified about the weights.
double tau_of(const Problem& problem, const RawResult& raw, const Total& total);

struct Outcome {
  float* out;  ///< rows × value_dim
  std::array<float, most_rows> lse;
  std::array<Certificate, most_rows> certificate;  ///< but for counts and `reached`
  bool finite = true;
};
std::int64_t certify_scratch(const Problem& problem);
/// `raw_out` are the outputs of the raw tokens, rows × value_d32.
Outcome certify(const Problem& problem, const RawResult& raw, const float* raw_out,
                const Visits& visits, std::span<const double> reference, float* scratch,
                float* out);

}  // namespace tamis::sieve
