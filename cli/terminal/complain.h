// What a failed command says: one sentence on standard error, under --json an object on standard
// output too.
#pragma once

#include <string>

#include <tamis/error.h>

namespace tamis::cli {

/// Says the sentence; returns `status`.
int complain(int status, const std::string& sentence);

/// The exit status of a failure: 2 for bad usage or input, 3 for all else.
int status_of(Code code);

/// {"error": {"code": "usage" | "input" | "failed", "message": sentence}}.
std::string error_json(Code code, const std::string& sentence);

}  // namespace tamis::cli
