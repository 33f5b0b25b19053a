// Throws an Error with a formatted sentence.
#pragma once

#include <tamis/error.h>

#include "core/format.h"

namespace tamis::core {

template <class... Values>
[[noreturn]] void fail(Code code, fmt::format_string<Values...> sentence, Values&&... values) {
  throw Error(code, format_values(sentence, fmt::make_format_args(values...)));
}

}  // namespace tamis::core
