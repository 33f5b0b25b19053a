// Can self-attention weakly approximate a pattern with queries and keys of d columns? Yes with a
// verified witness, no with a refutation, or open with bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

enum class Verdict { yes, no, open };
TAMIS_API const char* name_of(Verdict verdict);

struct DecideOptions {
  /// The dimension d asked about; without it, the least one (d_min).
  std::optional<std::int64_t> dim;
  /// d_hid, the columns of x in L = x·w_q·w_kᵀ·xᵀ; square patterns only. Without it queries and
  /// keys are free, as they are for d_hid ≥ 2d.
  std::optional<std::int64_t> hidden;
  double time_limit = 60;  ///< seconds; dimension 1 is not held to it, the rest closely
  bool solvers = true;     ///< ask z3, cvc5 and cadical where they are installed
  /// Whether `witness` is wanted. It has a key for every column; without it equal columns cost
  /// nothing, and those without a nonzero neither (but if a hidden size is asked for).
  bool witness = true;
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: every core
};

/// One thing that was tried.
struct Trial {
  std::string what;
  std::int64_t dim = 0;
  std::string outcome;  ///< a clause
  double seconds = 0;
  std::int64_t times = 1;  ///< in a row, with the same outcome; `seconds` is of all
};

struct Decision {
  /// About `dim` if one was asked for; otherwise yes if lower = upper, no if `hidden` leaves no
  /// dimension, else open.
  Verdict verdict = Verdict::open;
  std::int64_t lower = 1;                ///< no witness has fewer columns
  std::optional<std::int64_t> upper;     ///< columns of the witness that was found, if one was
  std::optional<Refutation> refutation;  ///< of lower − 1 columns, if lower > 1
  /// Weak conditions, verified in exact arithmetic. None if it was not wanted, or, said by the last
  /// trial, if its keys would take more memory than such a file justifies (`realise`).
  std::optional<Witness> witness;
  Verification verification;  ///< of the witness
  std::string method;         ///< that made the witness
  std::vector<Trial> trials;  ///< in order
  double seconds = 0;
  bool interrupted = false;  ///< the progress callback asked to stop
};

/// What follows from time (an open verdict, a wide interval) may differ from run to run; a yes and
/// a no never contradict each other. Unlike other calls this one does not throw `cancelled`: when
/// the callback returns false it returns the bounds so far. Progress counts seconds of the time
/// limit.
///
/// Dimension 1 is always decided, in time linear in the nonzeros. Throws `usage` for options
/// outside their range, `input` for a pattern that they do not fit, also if no witness of its would
/// fit memory and one is wanted. Concurrent calls are safe.
TAMIS_API Decision decide(const Pattern& pattern, const DecideOptions& options,
                          const ProgressCallback& progress = {});

}  // namespace tamis::lab
