// Decides whether self-attention can weakly approximate a pattern: in every row the logits of the
// nonzeros must all be above the other logits. The answer for queries and keys of a given number of
// columns is yes with a verified witness, no with a refutation, or open with bounds. In this header
// d, d_min, `dim`, `lower` and `upper` all count the columns of queries and keys (m).
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
  /// The number of columns of queries and keys that is asked about; without it, the least possible
  /// number (d_min).
  std::optional<std::int64_t> dim;
  /// d_hid, the number of columns of x in L = x·w_q·w_kᵀ·xᵀ, for square patterns only. Without it
  /// queries and keys are free, as they are for d_hid ≥ 2·dim and for d_hid ≥ rows.
  std::optional<std::int64_t> hidden;
  /// In seconds; the step for dimension 1 may exceed it, the others hardly do.
  double time_limit = 60;
  bool solvers = true;  ///< whether to run z3, cvc5 and cadical where they are installed
  /// Whether to return `Decision::witness`, which holds a key for every column. Without it, equal
  /// columns and columns without a nonzero cost nothing, unless `hidden` is given.
  bool witness = true;
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: every core
};

/// One step of the search.
struct Trial {
  std::string what;
  std::int64_t dim = 0;  ///< columns that the step was about; 0: no single number
  std::string outcome;   ///< a clause for messages
  double seconds = 0;
  std::int64_t times = 1;  ///< repetitions in a row with the same outcome; `seconds` is their total
};

struct Decision {
  /// The answer for `DecideOptions::dim` if that is given. Otherwise yes if lower = upper, no if
  /// lower is above `DecideOptions::hidden`, so that no dimension remains, and else open.
  Verdict verdict = Verdict::open;
  std::int64_t lower = 1;             ///< no witness has fewer columns
  std::optional<std::int64_t> upper;  ///< columns of the best witness found, if any
  /// Shows that lower − 1 columns are too few; present if lower > 1.
  std::optional<Refutation> refutation;
  /// Verified under weak conditions in exact arithmetic. Empty if none was found or wanted, or if
  /// its keys would take more memory than a file with so few nonzeros justifies (see `realise`);
  /// the last trial then says so.
  std::optional<Witness> witness;
  Verification verification;  ///< of the witness
  std::string method;         ///< the step that made the witness
  std::vector<Trial> trials;  ///< in order
  double seconds = 0;
  bool interrupted = false;  ///< the progress callback asked to stop
};

/// Searches for bounds on d_min until the question is answered or the time limit is reached.
/// Results that depend on the time available (an open verdict, a wide interval) may differ between
/// runs, but a yes and a no never contradict each other. Unlike other calls this one does not throw
/// `cancelled`: when the progress callback returns false, the call returns the bounds found so far.
/// Progress counts seconds of the time limit.
///
/// Dimension 1 is always decided, in time linear in the nonzeros. Throws `usage` for options
/// outside their range, and `input` for a pattern that does not fit the options, or whose witness
/// is wanted but could not fit in memory. Concurrent calls are safe.
TAMIS_API Decision decide(const Pattern& pattern, const DecideOptions& options,
                          const ProgressCallback& progress = {});

}  // namespace tamis::lab
