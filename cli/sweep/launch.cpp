#include "sweep/launch.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/lab/run.h>
#include <tamis/text.h>

#include "terminal/complain.h"

namespace tamis::cli {
namespace {

constexpr const char* module_name = "libtamis-mpi.so";

bool number_of(const char* variable, int& number) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return false;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
  return error == std::errc() && end == all.data() + all.size();
}

[[noreturn]] void fail_module(std::string_view why) {
  throw Error(
      Code::usage,
      fmt::format("mpirun started tamis, but {} cannot be used: {}; build tamis where Open MPI is "
                  "(TAMIS_MPI=ON), or start it without mpirun",
                  module_name, why));
}

template <class Function>
Function* function_of(void* module, const char* name) {
  void* found = dlsym(module, name);
  if (found == nullptr) fail_module(printable(dlerror()));
  return reinterpret_cast<Function*>(found);
}

}  // namespace

Launch launch() {
  Launch found;
  int rank = 0;
  int size = 0;
  if (number_of("OMPI_COMM_WORLD_RANK", rank) && number_of("OMPI_COMM_WORLD_SIZE", size) &&
      rank >= 0 && rank < size)
    found = {true, rank, size};
  return found;
}

std::unique_ptr<lab::Ranks> start_ranks() {
  // The module is found through this program's rpath. It is loaded globally because Open MPI's own
  // modules look up its symbols, and never closed because they stay loaded.
  void* module = dlopen(module_name, RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) fail_module(printable(dlerror()));
  const std::string_view made_for = function_of<const char*()>(module, "tamis_mpi_version")();
  if (made_for != version())
    fail_module(fmt::format("it is of tamis {}, this is {}", made_for, version()));
  return std::unique_ptr<lab::Ranks>(function_of<lab::Ranks*()>(module, "tamis_mpi_start")());
}

int lead_ranks(std::unique_ptr<lab::Ranks> ranks, bool json, const std::function<int()>& lead) {
  constexpr int failed = 3;
  int status = 0;
  std::exception_ptr error;
  try {
    status = lead();
  } catch (...) {
    error = std::current_exception();
  }
  std::fflush(stdout);
  if (!lab::end_ranks(*ranks)) {
    std::string why = "a rank did not end in ten seconds after it was told to; all are ended now";
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& told) {
      why = fmt::format("{}; then {}", told.what(), why);
    }
    if (error && json) fmt::print("{}", error_json(Code::io, why));
    std::fflush(stdout);
    complain(failed, why);
    ranks->abort(failed);
  }
  ranks.reset();
  if (error) std::rethrow_exception(error);
  return status;
}

}  // namespace tamis::cli
