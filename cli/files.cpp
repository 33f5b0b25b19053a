#include "files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include <tamis/error.h>
#include <tamis/tensor.h>

namespace tamis::cli {

std::vector<TraceLayer> chosen_layers(const Trace& trace, const std::vector<std::int64_t>& numbers) {
  const auto all = trace.layers();
  if (numbers.empty()) return {all.begin(), all.end()};
  std::vector<TraceLayer> chosen;
  for (const TraceLayer& layer : all)
    if (std::ranges::find(numbers, layer.layer) != numbers.end()) chosen.push_back(layer);
  for (const std::int64_t number : numbers) {
    if (std::ranges::find(all, number, &TraceLayer::layer) != all.end()) continue;
    std::vector<std::int64_t> held;
    for (const TraceLayer& layer : all) held.push_back(layer.layer);
    throw Error(Code::usage, fmt::format("--layer {}: {} has no such layer; it has {}", number,
                                         trace.path(), fmt::join(held, ", ")));
  }
  return chosen;
}

void check_out(const std::string& option, const std::string& out, const std::string& input) try {
  std::error_code ignored;
  if (std::filesystem::equivalent(out, input, ignored))
    throw Error(Code::usage, fmt::format("{}: is the input itself; give another name", out));
  check_writable(out);
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("{}: {}", option, error.what()));
}

}  // namespace tamis::cli
