// The engine's part of the module.
#include "module.h"

namespace tamis::python {

void declare_engine(nanobind::module_&) {}

}  // namespace tamis::python
