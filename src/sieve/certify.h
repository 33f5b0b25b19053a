// Computes the output of each row and its certificate from the sums over raw tokens and spans,
// whatever the budget, and says whether that budget is met. Costs rows·d_v operations per span and
// per block, and reads the centres of the values of every block.
#pragma once

#include "sieve/raw.h"
#include "sieve/visit.h"

namespace tamis::sieve {

/// Sums of a row over its raw tokens and all spans, relative to one reference. The members are
/// those of Partial.
struct Total {
  double used = 0;
  double spread = 0;
  double product = 0;
  double dropped = 0;
  double vanished = 0;
};
Total total_of(const Problem& problem, const RawResult& raw, const Visits& visits, double reference,
               int r);
/// Returns the certified bound on the total-variation distance of the weights used.
double tau_of(const Problem& problem, const RawResult& raw, const Total& total);

/// The results of the rows of a problem.
struct Outcome {
  float* out;  ///< rows × value_dim
  std::array<float, most_rows> lse;
  std::array<Certificate, most_rows> certificate;  ///< from certify(), without counts and `reached`
  bool finite = true;  ///< false if a number left its range, and attention must be dense
};
/// Floats of scratch memory that certify() needs.
std::int64_t certify_scratch(const Problem& problem);
/// `raw_out` is the output of attend_raw(), rows × value_d32 floats. The results are
/// written to `out`.
Outcome certify(const Problem& problem, const RawResult& raw, const float* raw_out,
                const Visits& visits, std::span<const double> reference, float* scratch,
                float* out);

/// Returns whether a row met its budget, given a certificate with tau and counts of sparse or dense
/// attention. The row's numbers must be finite.
Reached reached_by(const Budget& budget, const Certificate& certificate);

}  // namespace tamis::sieve
