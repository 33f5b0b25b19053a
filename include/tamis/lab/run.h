// Running a sweep: what is missing in the store is computed, on threads and on ranks, longest
// first. Which of them computes a point never shows in its result.
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
  Ranks* ranks = nullptr;  ///< others that compute too; this is rank 0
};

struct RunOutcome {
  std::int64_t computed = 0;
  std::int64_t failed = 0;  ///< recorded with a sentence; the next run tries them again
  double seconds = 0;
};

/// Computes the points that `store` lacks or holds as failed, and records each soon after it is
/// done. `progress` counts guessed seconds. Throws `cancelled` when it says so: points in flight
/// are then lost, all others are in the store; `io` if the store cannot be written; and what
/// another rank failed with outside of points.
TAMIS_API RunOutcome run_sweep(const Sweep& sweep, SweepStore& store, const RunOptions& options,
                               const ProgressCallback& progress = {});

/// What a rank other than 0 does: computes what rank 0 sends until that says stop. Whatever `make`
/// throws is sent to rank 0, which then ends with it. `keep_going` is asked about every
/// millisecond; once it says no, rank 0 is told to cancel. Throws nothing but for a transport that
/// does.
TAMIS_API void serve_sweep(Ranks& ranks, int threads, const std::function<Sweep()>& make,
                           const std::function<bool()>& keep_going);

/// On rank 0, at the end of all: says stop to every other rank and waits for its farewell. False if
/// one does not answer for `patience` seconds; `abort` ends such.
[[nodiscard]] TAMIS_API bool end_ranks(Ranks& ranks, double patience = 10);

}  // namespace tamis::lab
