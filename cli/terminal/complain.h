// How a failed command reports its error: one sentence on standard error and, under --json, an
// object on standard output too.
#pragma once

#include <string>

#include <tamis/error.h>

namespace tamis::cli {

/// Prints the sentence on standard error and returns `status`.
int complain(int status, const std::string& sentence);

/// Returns the exit status of a failure: 2 for bad usage or input, 3 for all else.
int status_of(Code code);

/// Returns {"error": {"code": "usage" | "input" | "failed", "message": sentence}}.
std::string error_json(Code code, const std::string& sentence);

}  // namespace tamis::cli
