// What commands ask of the files they are given, before hours of work rather than after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/trace.h>

namespace tamis::cli {

/// The layers asked for by --layer, in the order of the trace; all if none was.
std::vector<TraceLayer> chosen_layers(const Trace& trace, const std::vector<std::int64_t>& numbers);

/// Can the result of `option` be written to `out`, and would it replace the input?
void check_out(const std::string& option, const std::string& out, const std::string& input);

}  // namespace tamis::cli
