// The lab's kernels, written once over a target's vector vocabulary and compiled once per target,
// as the engine's are (kernels/body.h). Everything here has internal linkage.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector_math.h"
#include "lab/kernels/kernels.h"

namespace tamis::lab::kernels {
namespace {
// The vector operations of the target are what these files are written in.
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
