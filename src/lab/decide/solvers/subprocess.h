// Runs another program under hard limits: solvers are asked in a process of their own, so that one
// that loops, eats memory or crashes costs its time and nothing else. A millisecond or so on top of
// the program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/decide/clock.h"

namespace tamis::lab::decision {

struct ProgramLimits {
  std::int64_t memory_bytes = std::int64_t{2} << 30;  ///< of address space
  std::size_t output_bytes = std::size_t{16}
                             << 20;  ///< kept of standard output, and as much of errors
  std::int64_t file_bytes = std::int64_t{1} << 30;  ///< the longest file that it may write
};

/// How a program ended.
enum class Ended {
  absent,  ///< it is not installed, and nothing was run
  exited,  ///< by itself; `status` is its exit status
  time,    ///< killed: the part's time is over, or the caller said stop
  memory,  ///< the limit of memory stopped it, or the system did for want of memory
  failed,  ///< it could not be started, or a signal stopped it
};

struct ProgramRun {
  Ended ended = Ended::absent;
  /// If `exited`; −1 if the system did not keep it, as when this process ignores SIGCHLD: then what
  /// the program wrote is all that is known of its end.
  int status = -1;
  std::string output;
  std::string errors;
  bool truncated = false;  ///< it wrote more than was kept
  double seconds = 0;
};

/// The first executable file of that name in a folder of PATH, or empty. A name with a slash is its
/// own path. Relative folders of PATH are passed over.
std::string find_program(const std::string& name);

/// Runs `name` with these arguments, without a shell, in the present folder, its standard input
/// empty, until it ends or `part` is over, which is asked every 20 ms, or it has used that much
/// time of processors. It and whatever it started is dead and reaped on return, also when the
/// part's callback throws; if this process is killed, the program is too. Other threads may run
/// programs, fork and open files meanwhile: no descriptor is left open or handed down. Throws `io`
/// if the system gives no pipe or process.
ProgramRun run_program(const std::string& name, const std::vector<std::string>& arguments,
                       const ProgramLimits& limits, Clock::Part& part);

}  // namespace tamis::lab::decision
