// Failures of the library become tamis.Error, which is a class written in Python.
#include <tamis/error.h>

#include "module.h"
#include "text.h"

namespace tamis::python {
namespace {

const char* word_for(Code code) {
  switch (code) {
    case Code::usage:
      return "usage";
    case Code::input:
      return "input";
    case Code::io:
      return "io";
    case Code::cancelled:
      return "cancelled";
    case Code::internal:
      break;
  }
  return "internal";
}

}  // namespace

void declare_error() {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nanobind::object type = nanobind::module_::import_("tamis.error").attr("Error");
      const nanobind::object value = type(text(error.what()), word_for(error.code()));
      PyErr_SetObject(type.ptr(), value.ptr());
    }
  });
}

}  // namespace tamis::python
