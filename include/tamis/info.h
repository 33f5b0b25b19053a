// What this build of tamis is and what it can use here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tamis/export.h>

namespace tamis {

TAMIS_API std::string_view version();

/// A compiled set of kernels.
struct Target {
  std::string_view name;  ///< "scalar", "avx2", "avx512"
  bool runs_here;         ///< this CPU has what it needs
};

/// All compiled targets, slowest first.
TAMIS_API std::vector<Target> targets();
/// The target in use: the last one that runs here, or the one the environment variable TAMIS_TARGET
/// names. Throws `usage` if that names none or one this CPU cannot run. Decided once per process.
TAMIS_API std::string_view target();
/// Cores this process may use.
TAMIS_API int hardware_threads();
/// Whose threads work where none are named: "threads", the library's own, or "executor", those of
/// set_default_executor.
TAMIS_API std::string_view parallel_runtime();
/// Libraries linked, with the versions found at run time, or compiled in: "GMP 6.2.1", …
TAMIS_API std::vector<std::string> libraries();

}  // namespace tamis
