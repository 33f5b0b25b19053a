// The targets for AVX-512 (F, BW, DQ, VL), without and with VNNI.
#include "kernels/kernels.h"
#include "kernels/vectors_avx512.h"
#include "kernels/vnni.h"

#include "kernels/body.h"

namespace tamis::kernels {
namespace {

constexpr Kernels with_vnni_dots(Kernels kernels) {
  kernels.sieve.dots_of_plane = vnni_dots_of_plane;
  kernels.sieve.dots_of_planes = vnni_dots_of_planes;
  kernels.sieve.dot_listed = vnni_dot_listed;
  return kernels;
}

}  // namespace

constinit const Kernels avx512_kernels = make_table("avx512", Vectors::avx512);
constinit const Kernels avx512vnni_kernels =
    with_vnni_dots(make_table("avx512vnni", Vectors::avx512));

}  // namespace tamis::kernels
