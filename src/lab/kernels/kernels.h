// The kernels that only the lab needs, one table for each set of vector instructions: statistics of
// rows of attention, the descent on queries and keys, and random projections.
#pragma once

#include "lab/kernels/descent.h"
#include "lab/kernels/jl.h"
#include "lab/kernels/rows.h"

namespace tamis::lab::kernels {

struct LabKernels {
  RowKernels rows;
  DescentKernels descent;
  JlKernels jl;
};

extern const LabKernels lab_scalar_kernels;
#ifdef TAMIS_X86
extern const LabKernels lab_avx2_kernels;
extern const LabKernels lab_avx512_kernels;
#endif

/// The table for the target that the engine uses; see tamis::target().
const LabKernels& lab_kernels();

/// For tests: use this table in all threads of the process; null restores the usual choice.
void force_lab_kernels(const LabKernels* kernels);

}  // namespace tamis::lab::kernels
