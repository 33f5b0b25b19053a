// Text made of a template and values, as fmt does it. Only format.cpp compiles fmt's code, so that
// the engine needs no library for it and files that include this header get declarations only.
#pragma once

#include <fmt/core.h>

#include <string>

#include "core/inside.h"

namespace tamis::core {

TAMIS_INSIDE std::string format_values(fmt::string_view text, fmt::format_args values);

/// fmt::format for numbers, characters and strings.
template <class... Values>
std::string format(fmt::format_string<Values...> text, Values&&... values) {
  return format_values(text, fmt::make_format_args(values...));
}

}  // namespace tamis::core
