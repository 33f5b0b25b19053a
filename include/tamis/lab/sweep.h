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
#include <tamis/lab/sweep_kind.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// All sweeps, in the order of the papers.
TAMIS_API const std::vector<SweepKind>& sweep_kinds();

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
