// Chooses the lab's table of kernels for the target that the engine has chosen.
#include <atomic>

#include "kernels/kernels.h"
#include "lab/kernels/kernels.h"

namespace tamis::lab::kernels {
namespace {

std::atomic<const LabKernels*> forced{nullptr};

}  // namespace

const LabKernels& lab_kernels() {
  if (const LabKernels* all = forced.load(std::memory_order_relaxed); all != nullptr) return *all;
  switch (tamis::kernels::kernels().vectors) {
#ifdef TAMIS_X86
    case tamis::kernels::Vectors::avx2:
      return lab_avx2_kernels;
    case tamis::kernels::Vectors::avx512:
      return lab_avx512_kernels;
#endif
    // No default, so that the compiler asks for the kernels of a new target.
    case tamis::kernels::Vectors::scalar:
#ifndef TAMIS_X86
    case tamis::kernels::Vectors::avx2:
    case tamis::kernels::Vectors::avx512:
#endif
      return lab_scalar_kernels;
  }
  return lab_scalar_kernels;
}

void force_lab_kernels(const LabKernels* kernels) { forced = kernels; }

}  // namespace tamis::lab::kernels
