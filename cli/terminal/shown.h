// Shows the library's progress callback on the terminal, and stops the library's call at Ctrl-C.
#pragma once

#include <optional>
#include <string>

#include <tamis/progress.h>

#include "terminal/progress.h"

namespace tamis::cli {

/// The progress of one long call. The line is shown from the first report until this object ends.
class Shown {
 public:
  /// `what` names the unit of work of the call.
  explicit Shown(std::string what) : what_(std::move(what)) {}

  /// Returns a callback that refers to this object.
  [[nodiscard]] ProgressCallback callback();

 private:
  std::string what_;
  std::optional<Progress> progress_;
  double before_ = 0;
};

}  // namespace tamis::cli
