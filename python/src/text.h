// Text of the library as Python's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

namespace tamis::python {

/// Text that may come from a file, a path or another program. Bytes that are not UTF-8 become \xNN.
nanobind::str text(std::string_view text);
nanobind::list texts(const std::vector<std::string>& all);

}  // namespace tamis::python
