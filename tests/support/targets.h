// Running a check on every SIMD target that this machine has, and saying which it has not.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/kernels.h"

namespace tamis::testing {

/// Calls check(name) with each target in force; a target this CPU cannot run is recorded as not run.
template <class Check>
void for_each_target(Check check) {
  int count = 0;
  const KernelTarget* targets = kernel_targets(count);
  for (int i = 0; i < count; ++i) {
    if (!targets[i].runs_here) {
      ::testing::Test::RecordProperty(std::string(targets[i].kernels->name), "not run: this CPU lacks it");
      continue;
    }
    force_kernels(targets[i].kernels);
    check(targets[i].kernels->name);
    force_kernels(nullptr);
  }
}

}  // namespace tamis::testing
