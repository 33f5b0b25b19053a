// The parts of the module: each file declares its functions and classes on it.
#pragma once

#include <nanobind/nanobind.h>

namespace tamis::python {

/// Makes tamis::Error the Python exception tamis.Error.
void declare_error();
/// What this build is and what this machine offers.
void declare_info(nanobind::module_& module);
/// The engine: the cache, attention over it, attention over arrays.
void declare_cache(nanobind::module_& module);
void declare_attend(nanobind::module_& module);
void declare_dense(nanobind::module_& module);
/// The lab: traces, profiles, patterns, witnesses, decisions.
void declare_lab(nanobind::module_& module);

}  // namespace tamis::python
