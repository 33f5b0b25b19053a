// Whether mpirun started this process, one of several ranks, and how it reaches the others.
#pragma once

#include <functional>
#include <memory>

#include <tamis/lab/ranks.h>

namespace tamis::cli {

/// As Open MPI's mpirun says in the environment.
struct Launch {
  bool by_mpirun = false;
  int rank = 0;
  int size = 1;
};
Launch launch();

/// Loads libtamis-mpi.so and starts MPI. Throws `usage` if this tamis has none.
std::unique_ptr<lab::Ranks> start_ranks();

/// Runs `lead`, what rank 0 does, then ends the other ranks, whatever happened; rethrows. Ranks
/// that do not end are ended at once, with this process, after what there is to say was said.
int lead_ranks(std::unique_ptr<lab::Ranks> ranks, bool json, const std::function<int()>& lead);

}  // namespace tamis::cli
