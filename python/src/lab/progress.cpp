#include "progress.h"

namespace tamis::python {

ProgressCallback Watch::callback() {
  return [this](double done, double total) {
    const auto now = std::chrono::steady_clock::now();
    // The end of the work is always told, however soon it comes.
    if (done < total && now - last_ < std::chrono::milliseconds(20)) return !kept_;
    last_ = now;
    return look(done, total);
  };
}

bool Watch::look(double done, double total) {
  nb::gil_scoped_acquire acquire;
  try {
    if (kept_) return false;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (told_.is_none()) return true;
    return !told_(done, total).is(nb::handle(Py_False));
  } catch (...) {
    kept_ = std::current_exception();
    return false;
  }
}

}  // namespace tamis::python
