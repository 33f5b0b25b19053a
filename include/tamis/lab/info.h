// What libtamis-lab is linked with, beyond what the engine is.
#pragma once

#include <string>
#include <vector>

#include <tamis/export.h>

namespace tamis::lab {

/// Libraries linked, with the versions found at run time: "GMP 6.2.1", …
TAMIS_API std::vector<std::string> lab_libraries();

}  // namespace tamis::lab
