// Where sweeps keep what they find: one SQLite file for any number of sweeps, its schema in
// docs/sweeps.md. It stays whole at any moment that the process may be killed. One process writes,
// any number read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/sweep.h>

namespace tamis::lab {

/// What became of a point.
struct StoredPoint {
  std::string parameters;
  std::optional<std::string> result;  ///< none: it failed
  std::string error;                  ///< then why, a sentence
  double seconds = 0;                 ///< it took
  std::string version;                ///< of tamis, that computed it
  std::string target;                 ///< of the kernels, likewise
};

/// How far the grid is that was last asked for.
struct StoredSweep {
  std::string sweep;
  std::int64_t points = 0;  ///< of that grid
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t others = 0;   ///< results that are kept of other grids
  double done_seconds = 0;   ///< that the done points took
  double done_guess = 0;     ///< that they were guessed to take
  double missing_guess = 0;  ///< that the others are guessed to take
};

enum class StoreUse { read, write };

/// The names that an open store may take for files beside its own: SQLite's working files and the
/// lock.
TAMIS_API std::vector<std::string> files_beside_store(const std::string& path);

/// An open store, used by one thread at a time. Opening reads all of it once to check it.
class TAMIS_API SweepStore {
 public:
  /// `write` makes the file where there is none and throws `io` if another process writes it.
  /// `read` changes nothing in it and takes a file that cannot be trusted; beside a store that is
  /// being written, or whose writer was killed, SQLite may leave its working files -shm and -wal.
  /// Both throw `input` for a file that is no store, is damaged or was made by a newer tamis, and
  /// leave it as it is.
  SweepStore(const std::string& path, StoreUse use);
  /// Of a store that was written: folds its log into the one file, if nobody reads just now.
  ~SweepStore();
  SweepStore(SweepStore&&) noexcept;
  SweepStore& operator=(SweepStore&&) noexcept;

  [[nodiscard]] const std::string& path() const;
  /// Remembers the grid for `status`, instead of the sweep's one before.
  void plan(const std::string& sweep, std::span<const SweepPoint> points);
  /// All or none, in place of what was known of these points. Throws `io` if the disk is full; what
  /// was recorded before stays.
  void record(const std::string& sweep, std::span<const StoredPoint> points);
  /// What is known of each of the points.
  [[nodiscard]] std::vector<std::optional<StoredPoint>> look_up(
      const std::string& sweep, std::span<const SweepPoint> points) const;
  /// Of every sweep that was planned, by name.
  [[nodiscard]] std::vector<StoredSweep> status() const;

 private:
  struct Impl;
  /// Throws `usage` if it was moved from.
  [[nodiscard]] Impl& inside() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis::lab
