// The lab's kernels for AVX2 with FMA and F16C.
#include "kernels/vectors_avx2.h"

#include "lab/kernels/body.h"

namespace tamis::lab::kernels {
constinit const LabKernels lab_avx2_kernels = make_lab_table();
}
