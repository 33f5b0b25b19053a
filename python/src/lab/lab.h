// The bindings of the lab, one function for each part. What they take and return is plain: numbers,
// texts, arrays, dictionaries, and handles of C++ objects. The classes that people use are in
// python/tamis.
#pragma once

#include <nanobind/nanobind.h>

namespace tamis::python {

void declare_trace(nanobind::module_& m);
void declare_profile(nanobind::module_& m);
void declare_pattern(nanobind::module_& m);
void declare_witness(nanobind::module_& m);
void declare_realise(nanobind::module_& m);
void declare_decide(nanobind::module_& m);

}  // namespace tamis::python
