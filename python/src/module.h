// The parts of the module: each file declares its functions and classes on it.
#pragma once

#include <nanobind/nanobind.h>

namespace tamis::python {

/// Makes tamis::Error the Python exception tamis.Error.
void declare_error();
/// The engine: the cache, attention, what this machine offers.
void declare_engine(nanobind::module_& module);
/// The lab: traces, profiles, patterns, witnesses, decisions.
void declare_lab(nanobind::module_& module);

}  // namespace tamis::python
