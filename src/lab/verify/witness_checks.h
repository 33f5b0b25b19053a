// What the tensors of a witness must be, from a file or from a program.
#pragma once

#include <string>

#include <tamis/lab/witness.h>
#include "lab/io/parsers.h"

namespace tamis::lab::verification {

/// Throws `input`, with `name` in front, unless there are q and k or x, w_q and w_k, all of them
/// f32 or f64 matrices that fit each other, and finite. Reads every element once.
void check_witness(const std::string& name, const Witness& witness);

/// What `read_witness` calls after opening the file, and the fuzz target on memory.
Witness witness_in(const SafetensorsFile& file);

}  // namespace tamis::lab::verification
