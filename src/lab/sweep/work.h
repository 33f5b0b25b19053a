// What a run needs of a sweep, so that tests can run points of their own: slow ones and such that
// fail.
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

/// What became of a point.
struct Outcome {
  std::size_t point = 0;
  bool failed = false;
  std::string text{};  ///< its result, or why it failed
  double seconds = 0;
};

RunOutcome run_work(const Work& work, SweepStore& store, const RunOptions& options,
                    const ProgressCallback& progress);
void serve_work(Ranks& ranks, int threads, const std::function<Work()>& make,
                const std::function<bool()>& keep_going);

}  // namespace tamis::lab::sweep
