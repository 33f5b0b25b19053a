// The target for AVX2 with FMA and F16C.
#include "kernels/kernels.h"
#include "kernels/vectors_avx2.h"

#include "kernels/body.h"

namespace tamis::kernels {
constinit const Kernels avx2_kernels = make_table("avx2", Vectors::avx2);
}
