// Running a check on every SIMD target that this machine has, and saying which it has not.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/kernels.h"

namespace tamis::testing {

inline bool not_run_reported = false;

/// Calls check(name) with each target in force. A target this CPU cannot run is reported, once, as not run.
template <class Check>
void for_each_target(Check check) {
  int count = 0;
  const KernelTarget* targets = kernel_targets(count);
  for (int i = 0; i < count; ++i) {
    const char* name = targets[i].kernels->name;
    if (!targets[i].runs_here) {
      if (!not_run_reported) std::printf("[ NOT RUN  ] target %s: this CPU lacks it\n", name);
      continue;
    }
    force_kernels(targets[i].kernels);
    check(name);
    force_kernels(nullptr);
  }
  not_run_reported = true;
}

}  // namespace tamis::testing
