// Sweeps: the papers' experiments as grids of points. A point is a pure function of its parameters,
// which hold the seed; a store keeps results (store.h), and ranks share the work (ranks.h). What
// each sweep asks, and its axes: docs/sweeps.md.
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

/// What a grid is made over: its points take every combination of its axes' values, but for axes
/// that say how (such as how many matrices), which hold one value.
struct SweepAxis {
  std::string name;
  std::string what;            ///< a clause
  std::vector<double> values;  ///< unless others are asked for
  double least = 0;            ///< that a value may be
  double most = 0;
  bool whole = false;   ///< values are whole numbers
  bool single = false;  ///< takes one value
};

struct SweepKind {
  std::string name;  ///< as on the command line
  std::string what;  ///< one line
  std::vector<SweepAxis> axes;
  bool takes_trace = false;  ///< has points over a trace, if one is given
};
/// In the order of the papers.
TAMIS_API const std::vector<SweepKind>& sweep_kinds();

struct AxisValues {
  std::string axis;
  std::vector<double> values;
};
struct SweepRequest {
  std::string name;
  std::vector<AxisValues> axes;      ///< that differ from the defaults
  std::optional<std::string> trace;  ///< a trace file
  std::uint64_t seed = 0;
};

struct SweepPoint {
  std::string parameters;  ///< a JSON object on one line; equal points have equal text
  double seconds = 0;      ///< a guess at its time on one core
};

/// What a sweep found.
struct SweepReport {
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading
  std::vector<std::vector<std::string>>
      fits;  ///< likewise, of what was fitted; empty if nothing was
  std::vector<std::string>
      sentences;     ///< whether the paper's claim held here, with numbers: two of them
  std::string vega;  ///< a Vega-Lite 5 chart with its data inside
};

/// A sweep's grid, checked. Safe to use from many threads.
class TAMIS_API Sweep {
 public:
  /// Throws `usage` for a name, an axis or a value that does not exist, naming what does; `input`
  /// for a trace that cannot be read. Reads the whole trace once, for its hash.
  explicit Sweep(const SweepRequest& request);
  ~Sweep();
  Sweep(Sweep&&) noexcept;
  Sweep& operator=(Sweep&&) noexcept;

  [[nodiscard]] const std::string& name() const;
  /// In the order of the table.
  [[nodiscard]] std::span<const SweepPoint> points() const;
  /// The result of points()[point], a JSON object on one line: the same bits for any number of
  /// threads.
  [[nodiscard]] std::string compute(std::size_t point, int threads,
                                    const ProgressCallback& progress = {}) const;
  /// Of what is there so far: results[i] belongs to points()[i]. Throws `input`, naming the point,
  /// for a result that `compute` did not make.
  [[nodiscard]] SweepReport report(std::span<const std::optional<std::string>> results) const;

 private:
  struct Impl;
  /// Throws `usage` if it was moved from.
  [[nodiscard]] const Impl& inside() const;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace tamis::lab
