// Runs draws of the jl construction over threads and returns the first accepted one or the number
// of accepted ones. A draw depends on its number alone, so results do not depend on the threads,
// and a range of draws can be done in pieces. Here m is the rank of a draw: the columns of q and k,
// half the paper's d.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tamis/progress.h>

#include "lab/numbers/random.h"
#include "lab/realise/jl/draw.h"

namespace tamis::lab::realisation {

/// The draws of one call, numbers `first` … first + count − 1.
struct DrawRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class JlSearch {
 public:
  /// `threads` = 0 takes every core. The target must outlive this.
  JlSearch(const JlTarget& target, std::uint64_t seed, numbers::Purpose purpose, int threads);

  struct Found {
    std::int64_t draw = 0;
    Projection projection;
  };
  /// The first draw of rank m in the range that satisfies every row in f64, and in f32 up to its
  /// rounding. It is the first by number, whatever thread finds one sooner.
  std::optional<Found> first(std::int64_t m, DrawRange range,
                             const ProgressCallback& progress = {});
  /// Whether a draw of the range is accepted. Rows of which f32 is not sure are decided in f64.
  bool any(std::int64_t m, DrawRange range, const ProgressCallback& progress = {});
  /// The number of accepted draws of the range, decided likewise.
  std::int64_t count(std::int64_t m, DrawRange range, const ProgressCallback& progress = {});

 private:
  JlDraw& worker(int number, std::int64_t m);
  bool accepted(JlDraw& draw, std::int64_t number) const;

  const JlTarget& target_;
  std::uint64_t seed_;
  numbers::Purpose purpose_;
  int threads_;
  struct Worker {
    std::unique_ptr<JlDraw> draw;
    std::int64_t m = 0;
  };
  std::vector<Worker> workers_;
};

}  // namespace tamis::lab::realisation
