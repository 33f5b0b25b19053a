// `tamis verify` for a refutation instead of a witness.
#pragma once

#include <string>

#include "command.h"
#include "pattern_file.h"

namespace tamis::cli {

/// Tells whether the file is JSON text. A safetensors file begins with its header's length, which
/// has a zero byte.
bool looks_like_json(const std::string& path);

/// Prints the verdict. Returns the exit status: 0 if the refutation holds, 1 if not.
int verify_refutation(const PatternFile& pattern, const std::string& refutation,
                      const Globals& globals);

}  // namespace tamis::cli
