// Sweeps: the papers' experiments as grids of points. A point is a pure function of its
// parameters, which include the seed. A store keeps the results (store.h), and ranks can share the
// work (ranks.h). docs/sweeps.md describes how sweeps run and are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// One axis of a grid. The grid has a point for every combination of its axes' values. Some
/// axes hold a single value that says how the points are computed (such as how many
/// matrices are drawn).
struct SweepAxis {
  std::string name;
  std::string what;            ///< a clause that describes the axis
  std::vector<double> values;  ///< default values
  double least = 0;            ///< least allowed value; `most` is the greatest
  double most = 0;
  bool whole = false;   ///< values must be whole numbers
  bool single = false;  ///< the axis takes exactly one value
};

struct SweepKind {
  std::string name;  ///< name on the command line
  std::string what;  ///< description, one line
  std::vector<SweepAxis> axes;
  bool takes_trace = false;  ///< adds points over a trace, if one is given
};
/// All sweeps, in the order of the papers.
TAMIS_API const std::vector<SweepKind>& sweep_kinds();

struct AxisValues {
  std::string axis;
  std::vector<double> values;
};
struct SweepRequest {
  std::string name;
  std::vector<AxisValues> axes;      ///< axes whose values differ from the defaults
  std::optional<std::string> trace;  ///< path of a trace file
  std::uint64_t seed = 0;
};

struct SweepPoint {
  std::string parameters;  ///< a JSON object on one line; equal points have equal text
  double seconds = 0;      ///< guessed time on one core
};

/// The findings of a sweep.
struct SweepReport {
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading
  /// A table of fitted parameters, also with a heading; empty if nothing was fitted.
  std::vector<std::vector<std::string>> fits;
  /// Two sentences that say, with numbers, whether the paper's claim held.
  std::vector<std::string> sentences;
  std::string vega;  ///< a Vega-Lite 5 chart with its data embedded
};

/// A sweep's validated grid. All const members are thread-safe.
class TAMIS_API Sweep {
 public:
  /// Throws `usage` for a name or an axis that does not exist, naming the existing ones, and for
  /// a value out of range; `input` for a trace that cannot be read. Reads the whole trace once,
  /// to hash it.
  explicit Sweep(const SweepRequest& request);
  ~Sweep();
  Sweep(Sweep&&) noexcept;
  Sweep& operator=(Sweep&&) noexcept;

  [[nodiscard]] const std::string& name() const;
  /// The points of the grid, in the order of the table.
  [[nodiscard]] std::span<const SweepPoint> points() const;
  /// Computes points()[point]. Returns a JSON object on one line, with the same bits for any
  /// number of threads.
  [[nodiscard]] std::string compute(std::size_t point, int threads,
                                    const ProgressCallback& progress = {}) const;
  /// Reports on the results so far: results[i] belongs to points()[i] and is empty if that point
  /// is not done. Throws `input`, naming the point, for a result that `compute` did not make.
  [[nodiscard]] SweepReport report(std::span<const std::optional<std::string>> results) const;

 private:
  struct Impl;
  /// Throws `usage` if the object was moved from.
  [[nodiscard]] const Impl& inside() const;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace tamis::lab
