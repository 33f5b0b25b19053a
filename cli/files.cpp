#include "files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include <tamis/error.h>
#include <tamis/tensor.h>

namespace tamis::cli {
namespace {

/// The file whatever the name it is given by; where the system cannot tell, the name itself.
std::filesystem::path place_of(const std::string& file) {
  std::error_code error;
  const std::filesystem::path named = std::filesystem::absolute(file, error);
  if (error) return std::filesystem::path(file).lexically_normal();
  const std::filesystem::path place = std::filesystem::weakly_canonical(named, error);
  return error ? named.lexically_normal() : place;
}

}  // namespace

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

void check_outs(std::span<const Out> outs, const std::string& input) {
  for (const Out& out : outs) {
    if (!out.file) continue;
    check_out(out.option, *out.file, input);
    for (const Out& other : outs) {
      if (&other == &out) break;
      if (other.file && place_of(*other.file) == place_of(*out.file))
        throw Error(Code::usage, fmt::format("{} and {} name the same file, {}; give two", other.option,
                                             out.option, *out.file));
    }
  }
}

}  // namespace tamis::cli
