#pragma once

#include "kernels/kernels.h"

namespace tamis {

/// The kernels of AVX-512, with those that VNNI makes faster.
Kernels with_vnni(const Kernels& avx512);

}  // namespace tamis
