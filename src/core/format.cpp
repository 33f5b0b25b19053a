#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include "core/format.h"

namespace tamis::core {

std::string format_values(fmt::string_view text, fmt::format_args values) {
  return fmt::vformat(text, values);
}

}  // namespace tamis::core
