// Long calls: the GIL is released, signals are seen, and a function of the caller is told how far
// the work is.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <utility>

#include <tamis/error.h>
#include <tamis/progress.h>

namespace tamis::python {

namespace nb = nanobind;

/// The progress callback of one call. It takes the GIL at most every 20 ms, lets Python run its
/// signal handlers, and calls the caller's function, if there is one, with (done, total). If a
/// handler or that function raises an exception, the work is asked to stop and the exception is
/// kept. A function that returns False stops the work too.
class Watch {
 public:
  explicit Watch(nb::object told) : told_(std::move(told)) {}

  [[nodiscard]] ProgressCallback callback();
  /// Raises the exception that was kept, if there is one.
  void raise_kept() const {
    if (kept_) std::rethrow_exception(kept_);
  }

 private:
  bool look(double done, double total);

  nb::object told_;
  std::exception_ptr kept_;
  std::chrono::steady_clock::time_point last_{};
};

/// Returns work(progress callback), with the GIL released while it works.
template <class Work>
auto watched(nb::object told, Work work) {
  Watch watch(std::move(told));
  try {
    auto result = [&] {
      nb::gil_scoped_release release;
      return work(watch.callback());
    }();
    watch.raise_kept();
    return result;
  } catch (const Error&) {
    watch.raise_kept();
    throw;
  }
}

}  // namespace tamis::python
