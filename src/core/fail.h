// Throw an Error with a formatted sentence.
#pragma once

#include <fmt/format.h>

#include <utility>

#include <tamis/error.h>

namespace tamis {

template <class... Args>
[[noreturn]] void fail(Code code, fmt::format_string<Args...> sentence, Args&&... args) {
  throw Error(code, fmt::format(sentence, std::forward<Args>(args)...));
}

}  // namespace tamis
