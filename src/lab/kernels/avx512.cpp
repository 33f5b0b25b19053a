// The lab's kernels for AVX-512 (F, BW, DQ, VL).
#include "kernels/vectors_avx512.h"

#include "lab/kernels/body.h"

namespace tamis::lab::kernels {
constinit const LabKernels lab_avx512_kernels = make_lab_table();
}
