// Checks the tensors of a witness, which may come from a file or from a program.
#pragma once

#include <string>

#include <tamis/lab/witness.h>
#include "lab/io/parsers.h"

namespace tamis::lab::verification {

/// Throws `input`, with a message that begins with `name`, unless the witness has q and k, or x,
/// w_q and w_k, or both, and these are finite f32 or f64 matrices whose shapes fit each other.
/// Reads every element once.
void check_witness(const std::string& name, const Witness& witness);

/// The witness in an open file. `read_witness` calls this after opening the file, and the fuzz
/// target calls it on memory.
Witness witness_in(const SafetensorsFile& file);

}  // namespace tamis::lab::verification
