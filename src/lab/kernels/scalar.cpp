// The lab's kernels for the portable target.
#include "kernels/vectors_scalar.h"

#include "lab/kernels/body.h"

namespace tamis::lab::kernels {
constinit const LabKernels lab_scalar_kernels = make_lab_table();
}
