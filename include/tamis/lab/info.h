// The libraries that libtamis-lab is linked with, in addition to those of the engine.
#pragma once

#include <string>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// The names of these libraries with the versions found at run time: "GMP 6.2.1", …
TAMIS_API std::vector<std::string> lab_libraries();

}  // namespace tamis::lab
