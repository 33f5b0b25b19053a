// One method at one dimension, from pattern to verified witness, recorded whether it succeeds or
// not.
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

/// Keeps what it is given by reference. `progress` is told of attempts: done and total count them.
class Attempts {
 public:
  Attempts(const Pattern& pattern, const RealiseOptions& options, const ProgressCallback& progress,
           std::int64_t expected);

  /// Each gives a witness whose norm product is at most `most`, or nothing; throws `cancelled`.
  std::optional<Found> jl(std::int64_t dim, double most);
  std::optional<Found> moment(std::int64_t dim, double most);
  std::optional<Found> descent(std::int64_t dim, double most);
  /// Descent; from 2k to 4k dimensions, and above where descent finds nothing at all, also moment,
  /// and then a descent that begins there. The one of least norm product.
  std::optional<Found> any(std::int64_t dim, double most);

  /// Nonzeros in the fullest row: moment needs twice as many dimensions.
  [[nodiscard]] std::int64_t k() const { return figures_.most_per_row; }
  [[nodiscard]] std::vector<Attempt>& made() { return made_; }
  /// Draws of jl that were looked at, in all.
  [[nodiscard]] std::int64_t redraws() const { return redraws_; }

 private:
  std::optional<Found> descent_from(std::int64_t dim, double most, const Candidate* start);
  Candidate moment_candidate(std::int64_t dim);
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
  double told_ = 0;                     // of progress
  std::optional<Candidate> on_circle_;  // by moment, in 2k dimensions, once made
  std::vector<std::int64_t> position_;  // of columns on the circle, for more frequencies
  std::vector<Attempt> made_;
};

}  // namespace tamis::lab::realisation
