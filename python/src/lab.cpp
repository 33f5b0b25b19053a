// The lab's part of the module.
#include "module.h"

namespace tamis::python {

void declare_lab(nanobind::module_&) {}

}  // namespace tamis::python
