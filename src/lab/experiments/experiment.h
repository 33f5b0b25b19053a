// What an experiment is. To add one: a file that defines its `Experiment`, and a line in the table
// of sweep.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/lab/sweep.h>
#include <tamis/lab/trace.h>

namespace tamis::lab::experiments {

/// Members keep the order in which they are written, so that equal parameters have equal text.
using Json = nlohmann::ordered_json;

/// A trace and what says which one it is: points hold its hash, so that a result of another trace
/// is never taken for theirs, and a trace that was renamed keeps its results.
struct SweepTrace {
  std::string name;  ///< of the file, without folders; any bytes
  std::string hash;  ///< of its bytes, 16 hexadecimal digits
  Trace trace;
};

/// What a grid is made from.
struct GridRequest {
  const SweepKind& kind;
  std::vector<AxisValues> axes;  ///< all of the kind's, in its order, with the values that hold
  std::uint64_t seed = 0;
  const SweepTrace* trace = nullptr;

  [[nodiscard]] const std::vector<double>& values(std::string_view axis) const;
  [[nodiscard]] std::vector<std::int64_t> wholes(std::string_view axis) const;
  /// Of an axis that takes one value.
  [[nodiscard]] double value(std::string_view axis) const;
  [[nodiscard]] std::int64_t whole(std::string_view axis) const;
};

struct GridPoint {
  Json parameters;
  double seconds = 0;
};

/// Where a point is computed.
struct Scene {
  const SweepTrace* trace = nullptr;
  int threads = 1;
  const ProgressCallback& progress;
};

struct DonePoint {
  Json parameters;
  Json result;
};

struct Experiment {
  SweepKind kind;
  std::vector<GridPoint> (*points)(const GridRequest& request) = nullptr;
  /// A function of the parameters and the trace alone. Numbers that are not finite may not appear:
  /// JSON has none.
  Json (*compute)(const Json& parameters, const Scene& scene) = nullptr;
  /// Of the points that are done, in the order of the grid; there may be none.
  SweepReport (*report)(const GridRequest& request, const std::vector<DonePoint>& done) = nullptr;
  /// To be raised when a point's result changes: results of another revision are then not taken for
  /// it. Points hold it where it is not 1.
  int revision = 1;
};

const Experiment& fig3_experiment();
const Experiment& fig4_experiment();
const Experiment& frontier_experiment();
const Experiment& window_experiment();
const Experiment& length_experiment();
const Experiment& norm_experiment();
const Experiment& violation_experiment();
const Experiment& alpha_experiment();
const Experiment& collapse_experiment();

}  // namespace tamis::lab::experiments
