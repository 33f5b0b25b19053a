// The version of this build, and the instruction sets, cores and libraries that it can use here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tamis/export.h>

namespace tamis {

TAMIS_API std::string_view version();

/// A set of kernels compiled for one instruction set.
struct Target {
  std::string_view name;  ///< "scalar", "avx2", "avx512"
  bool runs_here;         ///< this CPU has the instructions that it needs
};

/// All compiled targets, slowest first.
TAMIS_API std::vector<Target> targets();
/// The target in use: the last one that runs here, or the one that the environment variable
/// TAMIS_TARGET names. Throws `usage` if that variable names no target, or one that this CPU cannot
/// run. Chosen once per process.
TAMIS_API std::string_view target();
/// The number of cores that this process may use.
TAMIS_API int hardware_threads();
/// The threads that calls use when they are given no executor: "threads" for the library's own, or
/// "executor" for the one set by set_default_executor.
TAMIS_API std::string_view parallel_runtime();
/// Libraries that libtamis is linked with or has compiled in, with their versions: "xxHash 0.8.1".
/// Those of libtamis-lab are in lab/info.h.
TAMIS_API std::vector<std::string> libraries();

}  // namespace tamis
