// Draws of the jl construction by number, over threads: the first that is accepted, or how many
// are. A draw depends on its number alone, so results do not depend on the threads, and ranges of
// draws can be done in pieces and put together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tamis/progress.h>

#include "lab/numbers/random.h"
#include "lab/realise/jl/draw.h"

namespace tamis::lab::realisation {

/// The numbers of draws that a call looks at: `first` … first + count − 1.
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
  /// rounding, whatever else is found sooner.
  std::optional<Found> first(std::int64_t m, DrawRange range,
                             const ProgressCallback& progress = {});
  /// Is one of the range accepted? Rows that f32 is not sure of are decided by f64.
  bool any(std::int64_t m, DrawRange range, const ProgressCallback& progress = {});
  /// How many of the range are accepted, likewise.
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
