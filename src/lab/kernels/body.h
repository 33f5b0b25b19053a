// The lab's kernels. They are written once in terms of a target's vector operations and compiled
// once per target, like those of the engine (kernels/body.h). Everything here has internal linkage.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector_math.h"
#include "lab/kernels/kernels.h"

namespace tamis::lab::kernels {
namespace {
// The kernel files use the vector operations of the target.
using namespace tamis::kernels;  // NOLINT(google-build-using-namespace)
}  // namespace
}  // namespace tamis::lab::kernels

#include "lab/kernels/descent_body.h"
#include "lab/kernels/jl_body.h"
#include "lab/kernels/rows_body.h"

namespace tamis::lab::kernels {
namespace {

constexpr LabKernels make_lab_table() {
  return {make_row_table(), make_descent_table(), make_jl_table()};
}

}  // namespace
}  // namespace tamis::lab::kernels
