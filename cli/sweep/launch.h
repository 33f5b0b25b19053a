// Tells whether mpirun started this process as one of several ranks, and connects it to the
// others.
#pragma once

#include <functional>
#include <memory>

#include <tamis/lab/ranks.h>

namespace tamis::cli {

/// The values that Open MPI's mpirun sets in the environment.
struct Launch {
  bool by_mpirun = false;
  int rank = 0;
  int size = 1;
};
Launch launch();

/// Loads libtamis-mpi.so and starts MPI. Throws Error(usage) if that library is missing or belongs
/// to another version of tamis.
std::unique_ptr<lab::Ranks> start_ranks();

/// Runs `lead`, the work of rank 0, then ends the other ranks whatever happened. Returns the
/// status of `lead` or rethrows its exception. If ranks do not end within ten seconds, prints the
/// errors so far and aborts all ranks, this process included.
int lead_ranks(std::unique_ptr<lab::Ranks> ranks, bool json, const std::function<int()>& lead);

}  // namespace tamis::cli
