// The lab's part of the module.
#include "lab.h"

#include <nanobind/stl/string.h>

#include <tamis/text.h>

#include "../module.h"

namespace tamis::python {

void declare_lab(nanobind::module_& module) {
  module.def(
      "printable", [](const std::string& text) { return printable(text); }, nanobind::arg("text"));
  declare_trace(module);
  declare_profile(module);
  declare_pattern(module);
  declare_witness(module);
  declare_realise(module);
  declare_decide(module);
}

}  // namespace tamis::python
