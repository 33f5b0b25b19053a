// Defines what an experiment is. HACKING.md says how to add one.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tamis/lab/sweep_kind.h>
#include <tamis/lab/trace.h>
#include <tamis/progress.h>

namespace tamis::lab::experiments {

/// Members keep the order in which they are written, so that equal parameters have equal text.
using Json = nlohmann::ordered_json;

/// A trace with its identity. Points include its hash, so that results of another trace are never
/// taken for theirs, and a renamed trace keeps its results.
struct SweepTrace {
  std::string name;  ///< file name without its folder; any bytes
  std::string hash;  ///< hash of its bytes, 16 hexadecimal digits
  Trace trace;
};

/// The input from which a grid is made.
struct GridRequest {
  const SweepKind& kind;
  std::vector<AxisValues> axes;  ///< all axes of the kind, in its order, with their final values
  std::uint64_t seed = 0;
  const SweepTrace* trace = nullptr;

  [[nodiscard]] bool has(std::string_view axis) const;
  [[nodiscard]] const std::vector<double>& values(std::string_view axis) const;
  [[nodiscard]] std::vector<std::int64_t> wholes(std::string_view axis) const;
  /// The value of an axis that takes one value.
  [[nodiscard]] double value(std::string_view axis) const;
  [[nodiscard]] std::int64_t whole(std::string_view axis) const;
};

struct GridPoint {
  Json parameters;
  double seconds = 0;
};

/// The environment in which a point is computed.
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
  /// Computes a point. The result must depend on the parameters and the trace only, and must not
  /// contain numbers that are not finite, since JSON cannot represent them.
  Json (*compute)(const Json& parameters, const Scene& scene) = nullptr;
  /// Reports on the finished points, which are in the order of the grid; there may be none.
  SweepReport (*report)(const GridRequest& request, const std::vector<DonePoint>& done) = nullptr;
  /// Increase this when a point's result changes, so that results of another revision are not
  /// used. Parameters include it unless it is 1.
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
