#include "text.h"

namespace tamis::python {

nanobind::str text(std::string_view text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal<nanobind::str>(made);
}

nanobind::list texts(const std::vector<std::string>& all) {
  nanobind::list list;
  for (const std::string& one : all) list.append(text(one));
  return list;
}

}  // namespace tamis::python
