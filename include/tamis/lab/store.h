// The store of sweep results: one SQLite file for any number of sweeps, with the schema of
// docs/sweeps.md. The file stays valid if the process is killed at any moment. One process writes
// at a time; any number of processes read.
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

/// The recorded outcome of one grid point.
struct StoredPoint {
  std::string parameters;
  std::optional<std::string> result;  ///< empty if the point failed
  std::string error;                  ///< in that case the reason, a sentence
  double seconds = 0;                 ///< computing time on its thread
  std::string version;                ///< version of tamis that computed it
  std::string target;                 ///< name of the kernels that computed it
};

/// The state of the grid that was last planned for one sweep.
struct StoredSweep {
  std::string sweep;
  std::int64_t points = 0;  ///< number of points in that grid
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t others = 0;   ///< stored results that are not part of that grid
  double done_seconds = 0;   ///< time that the done points took
  double done_guess = 0;     ///< time that the done points were guessed to take
  double missing_guess = 0;  ///< time that the other points of the grid are guessed to take
};

enum class StoreUse { read, write };

/// Returns the names of the files that an open store may create beside itself: SQLite's working
/// files and the lock.
TAMIS_API std::vector<std::string> files_beside_store(const std::string& path);

/// An open store. It may be used by one thread at a time. Opening it reads the whole file once,
/// to check it.
class TAMIS_API SweepStore {
 public:
  /// `write` creates the file if there is none, and throws `io` if another process is writing it,
  /// `usage` if files of an earlier store or of another program are in the way. `read` changes
  /// nothing in the file and is safe for files that cannot be trusted; beside a store that is
  /// being written, or whose writer was killed, SQLite may leave its working files -shm and -wal.
  /// Both throw `input`, and leave the file as it is, if it is not a store, is damaged or was made
  /// by a newer tamis.
  SweepStore(const std::string& path, StoreUse use);
  /// If the store was opened for writing, merges its write-ahead log into the file, unless another
  /// process is reading it at the moment.
  ~SweepStore();
  SweepStore(SweepStore&&) noexcept;
  SweepStore& operator=(SweepStore&&) noexcept;

  [[nodiscard]] const std::string& path() const;
  /// Saves the grid for `status`, in place of the sweep's earlier grid.
  void plan(const std::string& sweep, std::span<const SweepPoint> points);
  /// Records the points, replacing earlier outcomes of the same points, in one transaction. Throws
  /// `io` if the disk is full; what was recorded before stays.
  void record(const std::string& sweep, std::span<const StoredPoint> points);
  /// Returns the recorded outcome of each point; empty for points that are not in the store.
  [[nodiscard]] std::vector<std::optional<StoredPoint>> look_up(
      const std::string& sweep, std::span<const SweepPoint> points) const;
  /// Returns the state of every sweep that has a plan or a result in the store, sorted by name.
  [[nodiscard]] std::vector<StoredSweep> status() const;

 private:
  struct Impl;
  /// Throws `usage` if the object was moved from.
  [[nodiscard]] Impl& inside() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tamis::lab
