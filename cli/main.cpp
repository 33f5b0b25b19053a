// The program: parse, run one subcommand, turn failures into one sentence and an exit status.
//   0 done   1 the answer is no   2 bad usage or input   3 failed while running
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <string>

#include <tamis/error.h>

#include "command.h"
#include "sweep/launch.h"
#include "terminal/interrupt.h"
#include "text/usage.h"

namespace {

using tamis::Code;

int complain(int status, const std::string& sentence) {
  fmt::print(stderr, "tamis: {}\n", sentence);
  return status;
}

int status_of(Code code) { return code == Code::usage || code == Code::input ? 2 : 3; }

int run(int argc, char** argv) {
  tamis::cli::Program program;
  try {
    program.app().parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", program.app().help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    // Rank 0 says it for all ranks that share a sweep.
    if (program.app().got_subcommand("sweep") && tamis::cli::launch().rank > 0) return 0;
    return complain(2, tamis::cli::usage_sentence(program.app(), error));
  }
  return program.run();
}

/// Output that did not arrive is a failure, even if all else went well.
int finish(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  return complain(3, "standard output cannot be written; is the disk full?");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return finish(run(argc, argv));
  } catch (const tamis::Error& error) {
    if (error.code() == Code::cancelled) tamis::cli::die_of_interrupt();
    return complain(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return complain(3, "out of memory");
  } catch (const std::exception& error) {
    return complain(3, error.what());
  }
}
