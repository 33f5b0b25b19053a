// Runs one method at one dimension, from pattern to verified witness, and records the attempt
// whether it succeeds or not. The cost is that of the method.
#pragma once

#include <optional>
#include <vector>

#include <tamis/lab/realise.h>
#include "lab/realise/seal.h"

namespace tamis::lab::realisation {

struct Found {
  Sealed sealed;
  Method method = Method::descent;
  std::int64_t dim = 0;
};

/// Keeps its arguments by reference. `progress` counts attempts: its total is `expected`.
class Attempts {
 public:
  Attempts(const Pattern& pattern, const RealiseOptions& options, const ProgressCallback& progress,
           std::int64_t expected);

  /// Each returns a witness whose norm product is at most `most`, or nothing. Throws `cancelled` if
  /// the progress callback asks to stop.
  std::optional<Found> jl(std::int64_t dim, double most);
  std::optional<Found> moment(std::int64_t dim, double most);
  std::optional<Found> descent(std::int64_t dim, double most);
  /// Tries descent. From 2k dimensions on, if descent found nothing at all, also tries moment and
  /// then a descent that starts from moment's points; up to 4k dimensions and without a limit
  /// `most`, tries moment in any case. Returns the witness of least norm product.
  std::optional<Found> any(std::int64_t dim, double most);

  /// The number of nonzeros in the fullest row; moment needs 2k dimensions.
  [[nodiscard]] std::int64_t k() const { return figures_.most_per_row; }
  [[nodiscard]] std::vector<Attempt>& made() { return made_; }
  /// The total number of jl draws examined.
  [[nodiscard]] std::int64_t redraws() const { return redraws_; }

 private:
  std::optional<Found> descent_from(std::int64_t dim, double most, const Candidate* start);
  Candidate moment_candidate(std::int64_t dim);
  [[nodiscard]] Metadata origin(Method method) const;
  std::optional<Found> finish(Method method, std::int64_t dim, double begin,
                              std::optional<Found> found, double most, const std::string& why);
  [[nodiscard]] ProgressCallback part(double from, double to);

  const Pattern& pattern_;
  const RealiseOptions& options_;
  const ProgressCallback& progress_;
  PatternFigures figures_;
  int threads_;
  std::int64_t expected_;
  std::int64_t redraws_ = 0;
  double told_ = 0;                     // progress reported so far
  std::optional<Candidate> on_circle_;  // made by moment in 2k dimensions, when first needed
  std::vector<std::int64_t> position_;  // of columns on the circle, for higher frequencies
  std::vector<Attempt> made_;
};

}  // namespace tamis::lab::realisation
