// Runs a sweep: computes the points that the store lacks, longest first, on threads and,
// optionally, on ranks (several processes, as started by mpirun). Results do not depend on which
// thread or rank computes a point.
#pragma once

#include <cstdint>
#include <functional>

#include <tamis/export.h>
#include <tamis/lab/ranks.h>
#include <tamis/lab/store.h>
#include <tamis/lab/sweep.h>
#include <tamis/progress.h>

namespace tamis::lab {

struct RunOptions {
  int threads = 1;         ///< points that this process computes at once, each on one thread
  Ranks* ranks = nullptr;  ///< the ranks that share the work, this process being rank 0
};

struct RunOutcome {
  std::int64_t computed = 0;
  std::int64_t failed = 0;  ///< points recorded as failed; the next run tries them again
  double seconds = 0;
};

/// Computes the points that `store` lacks or holds as failed, and records each soon after it is
/// done. `progress` is called with guessed seconds, done and in total. Throws `cancelled` if
/// `progress` asks to stop: points in flight are then lost, all others are in the store. Throws
/// `io` if the store cannot be written, `usage` if a rank has another grid or program, and any
/// error that another rank had outside of computing points.
TAMIS_API RunOutcome run_sweep(const Sweep& sweep, SweepStore& store, const RunOptions& options,
                               const ProgressCallback& progress = {});

/// The work of a rank other than 0: computes the points that rank 0 sends, until rank 0 tells it
/// to stop. An exception from `make` is sent to rank 0, whose run then ends with that error.
/// `keep_going` is called about every millisecond; once it returns false, rank 0 is asked to
/// cancel. Throws only if the transport does.
TAMIS_API void serve_sweep(Ranks& ranks, int threads, const std::function<Sweep()>& make,
                           const std::function<bool()>& keep_going);

/// Tells every other rank to stop and waits for their replies; call it on rank 0 at the end.
/// Returns false if a rank has not answered within `patience` seconds; call `Ranks::abort`
/// in that case.
[[nodiscard]] TAMIS_API bool end_ranks(Ranks& ranks, double patience = 10);

}  // namespace tamis::lab
