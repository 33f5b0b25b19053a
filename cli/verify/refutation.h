// tamis verify on a refutation instead of a witness.
#pragma once

#include <string>

#include "command.h"
#include "pattern_file.h"

namespace tamis::cli {

/// Whether the file is JSON text: a safetensors file has its length, and so a zero byte, at the
/// front.
bool looks_like_json(const std::string& path);

/// Prints the verdict; exit status 0 if the refutation holds, 1 if not.
int verify_refutation(const PatternFile& pattern, const std::string& refutation,
                      const Globals& globals);

}  // namespace tamis::cli
