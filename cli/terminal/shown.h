// The library's progress on the terminal: a callback that shows it and stops at Ctrl-C.
#pragma once

#include <optional>
#include <string>

#include <tamis/progress.h>

#include "terminal/progress.h"

namespace tamis::cli {

/// One long call's. The line is there from the first report to the end of this object.
class Shown {
 public:
  /// `what` names the call's own units.
  explicit Shown(std::string what) : what_(std::move(what)) {}

  /// Refers to this object.
  [[nodiscard]] ProgressCallback callback();

 private:
  std::string what_;
  std::optional<Progress> progress_;
  double before_ = 0;
};

}  // namespace tamis::cli
