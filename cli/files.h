// What commands ask of the files they are given, before hours of work rather than after.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/trace.h>

namespace tamis::cli {

/// The layers asked for by --layer, in the order of the trace; all if none was.
std::vector<TraceLayer> chosen_layers(const Trace& trace, const std::vector<std::int64_t>& numbers);

/// Can the result of `option` be written to `out`, and would it replace the input?
void check_out(const std::string& option, const std::string& out, const std::string& input);

/// The same of several, each of which needs a file of its own.
struct Out {
  const char* option;
  const std::optional<std::string>& file;
};
void check_outs(std::span<const Out> outs, const std::string& input);

}  // namespace tamis::cli
