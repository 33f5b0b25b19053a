// Runs another program under hard limits. Solvers run in their own process, so that one that loops,
// uses up memory or crashes costs its time and nothing else. The overhead is about a millisecond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/decide/clock.h"

namespace tamis::lab::decision {

struct ProgramLimits {
  std::int64_t memory_bytes = std::int64_t{2} << 30;  ///< of address space
  /// The most bytes kept of standard output, and of standard error.
  std::size_t output_bytes = std::size_t{16} << 20;
  std::int64_t file_bytes = std::int64_t{1} << 30;  ///< largest file that it may write
};

/// How a program ended.
enum class Ended {
  absent,  ///< it is not installed and was not run
  exited,  ///< it ended by itself; `status` is its exit status
  time,    ///< killed because the part's time was over or the caller asked to stop
  memory,  ///< ended by the memory limit, or by the system for want of memory
  failed,  ///< it could not be started, or a signal ended it
};

struct ProgramRun {
  Ended ended = Ended::absent;
  /// The exit status if `ended` is `exited`. It is −1 if the system did not keep it, as when this
  /// process ignores SIGCHLD; then only what the program wrote says how it ended.
  int status = -1;
  std::string output;
  std::string errors;
  bool truncated = false;  ///< it wrote more than was kept
  double seconds = 0;
};

/// The path of the first executable file of that name in a folder of PATH, or empty. A name with a
/// slash is its own path. Relative folders in PATH are skipped.
std::string find_program(const std::string& name);

/// Runs `name` with these arguments, without a shell, in the current folder and with empty standard
/// input. The run ends when the program ends, when `part` is over, which is checked every 20 ms, or
/// when the program has used as much processor time as `part` had left, plus two seconds. On return
/// the program and whatever it started are dead and reaped, also if the part's callback throws; if
/// this process is killed, the program is killed too. Other threads may run programs, fork and open
/// files meanwhile: no descriptor is left open or passed on. Throws `io` if the system gives no
/// pipe or process.
ProgramRun run_program(const std::string& name, const std::vector<std::string>& arguments,
                       const ProgramLimits& limits, Clock::Part& part);

}  // namespace tamis::lab::decision
