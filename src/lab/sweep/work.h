// What a run needs from a sweep. Tests can thus run points of their own, such as slow
// or failing ones.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <tamis/lab/run.h>

namespace tamis::lab::sweep {

struct Work {
  std::string sweep;
  std::span<const SweepPoint> points;
  std::function<std::string(std::size_t point, const ProgressCallback& progress)> compute;
};

/// The outcome of one grid point.
struct Outcome {
  std::size_t point = 0;
  bool failed = false;
  std::string text{};  ///< its result, or the error message if it failed
  double seconds = 0;
};

RunOutcome run_work(const Work& work, SweepStore& store, const RunOptions& options,
                    const ProgressCallback& progress);
void serve_work(Ranks& ranks, int threads, const std::function<Work()>& make,
                const std::function<bool()>& keep_going);

}  // namespace tamis::lab::sweep
