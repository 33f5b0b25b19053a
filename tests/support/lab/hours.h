// What the tests of searches with other programs share: time enough, and a word where a program is
// absent.
#pragma once

#include <gtest/gtest.h>

#include "lab/decide/clock.h"
#include "lab/decide/solvers/subprocess.h"

namespace tamis::test {

#define SKIP_WITHOUT_CADICAL()                               \
  if (tamis::lab::decision::find_program("cadical").empty()) \
  GTEST_SKIP() << "not run: cadical is not installed"

/// Hours, which no test takes: the answers do not depend on time.
class Hours {
 public:
  lab::decision::Clock::Part& part() { return part_; }

 private:
  ProgressCallback none_;
  lab::decision::Clock clock_{1e5, none_};
  lab::decision::Clock::Part part_{clock_, 1e5};
};

}  // namespace tamis::test
