// C ABI: the libraries that the lab is linked with.
#include <tamis/lab/info.h>
#include <tamis/lab/tamis_lab.h>

#include <string>
#include <vector>

#include "capi/call.h"

namespace tamis::lab::capi {
namespace {

/// Kept until the process ends, so that callers may keep the strings.
const std::vector<std::string>& lab_library_names() {
  static const std::vector<std::string> names = lab_libraries();
  return names;
}

}  // namespace
}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

size_t tamis_lab_library_count(void) {
  size_t count = 0;
  guarded([&] { count = lab_library_names().size(); });
  return count;
}

tamis_code tamis_lab_library_at(size_t index, const char** name_and_version) {
  return guarded([&] {
    const auto& names = lab_library_names();
    if (index >= names.size())
      tamis::core::fail(tamis::Code::usage, "library {} was asked for; there are {}", index,
                        names.size());
    required(name_and_version, "name_and_version") = names[index].c_str();
  });
}
