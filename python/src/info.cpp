// What this build is and what it can use here.
#include <tamis/info.h>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include <tamis/lab/info.h>
#include <tamis/page.h>

#include "module.h"

namespace tamis::python {
namespace {

namespace nb = nanobind;

nb::typed<nb::dict, nb::str, nb::any> info() {
  nb::dict found;
  found["version"] = std::string(version());
  found["target"] = std::string(target());
  nb::dict all;
  for (const Target& each : targets()) all[nb::cast(std::string(each.name))] = each.runs_here;
  found["targets"] = all;
  found["threads"] = hardware_threads();
  found["parallel_runtime"] = std::string(parallel_runtime());
  found["page_tokens"] = page_tokens;
  std::vector<std::string> linked = libraries();
  for (std::string& library : lab::lab_libraries()) linked.push_back(std::move(library));
  found["libraries"] = linked;
  return found;
}

}  // namespace

void declare_info(nb::module_& module) {
  module.def(
      "info", &info,
      "Returns the version, the sets of kernels and whether each runs here, the one in use,\n"
      "the number of cores, the threads that calls use, and the libraries in this build.");
}

}  // namespace tamis::python
