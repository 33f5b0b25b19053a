#include <gmp.h>
#include <mpfr.h>
#include <sqlite3.h>

#include <fmt/format.h>
#include <tamis/lab/info.h>

namespace tamis::lab {

std::vector<std::string> lab_libraries() {
  return {fmt::format("GMP {}", gmp_version), fmt::format("MPFR {}", mpfr_get_version()),
          fmt::format("SQLite {}", sqlite3_libversion())};
}

}  // namespace tamis::lab
