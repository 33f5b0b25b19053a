// Shared by tests of searches that run other programs: a time limit that no test reaches, and a
// skip with a message where a program is missing.
#pragma once

#include <gtest/gtest.h>

#include "lab/decide/clock.h"
#include "lab/decide/solvers/subprocess.h"

namespace tamis::test {

#define SKIP_WITHOUT_CADICAL()                               \
  if (tamis::lab::decision::find_program("cadical").empty()) \
  GTEST_SKIP() << "not run: cadical is not installed"

/// A clock with a limit of 10⁵ s, far more than any test takes, so that answers do not
/// depend on time.
class Hours {
 public:
  lab::decision::Clock::Part& part() { return part_; }

 private:
  ProgressCallback none_;
  lab::decision::Clock clock_{1e5, none_};
  lab::decision::Clock::Part part_{clock_, 1e5};
};

}  // namespace tamis::test
