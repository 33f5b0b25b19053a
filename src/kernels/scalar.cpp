// The portable target, without vector instructions.
#include "kernels/kernels.h"
#include "kernels/vectors_scalar.h"

#include "kernels/body.h"

namespace tamis::kernels {
constinit const Kernels scalar_kernels = make_table("scalar", Vectors::scalar);
}
