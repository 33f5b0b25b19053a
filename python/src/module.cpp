// The module tamis._tamis. It takes and returns plain things: arrays, numbers, text, dictionaries.
// The package in python/tamis checks arguments, has defaults and classes, and is what users import.
#include "module.h"

#include <nanobind/stl/string.h>

#include <string>

#include <tamis/info.h>

NB_MODULE(_tamis, module) {
  module.doc() = "The compiled part of the package tamis; import tamis instead.";
  module.attr("version") = std::string(tamis::version());
  tamis::python::declare_error();
  tamis::python::declare_info(module);
  tamis::python::declare_cache(module);
  tamis::python::declare_attend(module);
  tamis::python::declare_dense(module);
  tamis::python::declare_lab(module);
}
