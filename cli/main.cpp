// The program: parses the command line, runs one subcommand and turns failures into one sentence
// and an exit status.
//   0 done   1 the answer is no   2 bad usage or input   3 failed while running
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <string>

#include <tamis/error.h>

#include "command.h"
#include "sweep/launch.h"
#include "terminal/complain.h"
#include "terminal/interrupt.h"
#include "text/usage.h"

namespace {

using tamis::Code;

int run(int argc, const char* const* argv) {
  tamis::cli::Program program;
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.app().help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return 0;
  } catch (const tamis::Error&) {
    if (program.follows()) return 0;
    throw;
  }
  return program.run();
}

/// Flushes standard output. Output that could not be written is a failure, even if all else went
/// well.
int finish(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  return tamis::cli::complain(3, "standard output cannot be written; is the disk full?");
}

}  // namespace

int main(int argc, char** argv) {
  // This looks at the arguments themselves because they may fail to parse. Rank 0 prints for all
  // ranks.
  const bool json = tamis::cli::asks_for_json(argc, argv) && tamis::cli::launch().rank == 0;
  const auto failed = [&](Code code, const std::string& sentence) {
    if (json) fmt::print("{}", tamis::cli::error_json(code, sentence));
    return tamis::cli::complain(tamis::cli::status_of(code), sentence);
  };
  try {
    return finish(run(argc, argv));
  } catch (const tamis::Error& error) {
    if (error.code() == Code::cancelled) tamis::cli::die_of_interrupt();
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(Code::internal, "out of memory");
  } catch (const std::exception& error) {
    return failed(Code::internal, error.what());
  }
}
