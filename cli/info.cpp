// tamis info: prints what this build can use on this machine, or what a trace holds. Of a trace it
// reads the header, positions and input bounds, not the queries, keys and values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/info.h>
#include <tamis/kv.h>
#include <tamis/lab/info.h>
#include <tamis/lab/trace.h>
#include <tamis/text.h>

#include "command.h"
#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

bool target_is_forced() {
  const char* forced = std::getenv("TAMIS_TARGET");
  return forced != nullptr && *forced != '\0';
}

/// Returns the libraries of the engine, then those of the lab.
std::vector<std::string> all_libraries() {
  std::vector<std::string> all = libraries();
  std::ranges::move(lab::lab_libraries(), std::back_inserter(all));
  return all;
}

ordered_json build_json(const Globals& globals) {
  ordered_json all = ordered_json::array();
  for (const Target& item : targets())
    all.push_back({{"name", item.name}, {"runs_here", item.runs_here}});
  return {
      {"version", version()},
      {"target", target()},
      {"target_forced", target_is_forced()},
      {"targets", all},
      {"backend", globals.backend},
      {"threads", threads_of(globals)},
      {"hardware_threads", hardware_threads()},
      {"parallel_runtime", parallel_runtime()},
      {"page_tokens", page_tokens},
      {"libraries", all_libraries()},
  };
}

std::string build_text(const Globals& globals) {
  std::string list;
  for (const Target& item : targets())
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", item.name,
                        item.runs_here ? "" : " (not on this CPU)");
  const int threads = threads_of(globals);
  return fmt::format(
      "version    {}\n"
      "target     {}, {}\n"
      "compiled   {}\n"
      "backend    {}\n"
      "threads    {} of {}\n"
      "page       {} tokens\n"
      "libraries  {}\n",
      version(), target(),
      target_is_forced() ? "forced by TAMIS_TARGET" : "the fastest that runs here", list,
      globals.backend, threads, hardware_threads(), page_tokens, fmt::join(all_libraries(), ", "));
}

ordered_json trace_json(const lab::Trace& trace) {
  ordered_json layers = ordered_json::array();
  for (const lab::TraceLayer& layer : trace.layers()) {
    const Shape& shape = layer.shape;
    layers.push_back(
        {{"layer", layer.layer},
         {"query_heads", shape.query_heads},
         {"kv_heads", shape.kv_heads},
         {"queries", shape.queries},
         {"head_dim", shape.head_dim},
         {"value_dim", shape.value_dim},
         {"query_dtype", name_of(layer.query_dtype)},
         {"kv_dtype", name_of(shape.dtype)},
         {"scale", shape.scale},
         {"has_weights", layer.has_weights},
         {"has_weight_norms", layer.has_weight_norms},
         {"input_bound", layer.input_bound ? ordered_json(*layer.input_bound) : ordered_json()}});
  }
  const auto [first, last] = std::ranges::minmax_element(trace.positions());
  ordered_json rotary;
  if (trace.rotary())
    rotary = {{"theta", trace.rotary()->theta},
              {"dims", trace.rotary()->dims},
              {"interleaved", trace.rotary()->interleaved}};
  return {{"trace", trace.path()},
          {"tokens", trace.tokens()},
          {"causal", trace.causal()},
          {"queries", trace.positions().size()},
          {"positions", {{"first", *first}, {"last", *last}}},
          {"rotary", rotary},
          {"layers", layers},
          {"metadata", trace.metadata()}};
}

std::string trace_text(const lab::Trace& trace) {
  const auto [first, last] = std::ranges::minmax_element(trace.positions());
  std::string out = fmt::format(
      "trace      {}\n"
      "tokens     {}, {}\n"
      "queries    {} per head, at positions {} to {}\n",
      trace.path(), trace.tokens(), trace.causal() ? "causal" : "not causal",
      trace.positions().size(), *first, *last);
  if (trace.rotary())
    out += fmt::format("rotary     theta {}, {} dimensions, {}\n", trace.rotary()->theta,
                       trace.rotary()->dims, trace.rotary()->interleaved ? "interleaved" : "half");
  constexpr std::array<std::string_view, 8> said{"format", "version",    "scale",     "causal",
                                                 "tokens", "rope_theta", "rope_dims", "rope_style"};
  for (const auto& [key, value] : trace.metadata())
    if (std::ranges::find(said, key) == said.end())
      out += fmt::format("{:<10} {}\n", printable(key), printable(value));
  std::vector<std::vector<std::string>> rows{
      {"layer", "query heads", "KV heads", "d", "d_v", "q", "k, v", "scale", "also"}};
  for (const lab::TraceLayer& layer : trace.layers()) {
    std::string also = layer.has_weights ? "weights " : "";
    if (layer.has_weight_norms) also += "norms ";
    if (layer.input_bound) also += "bound ";
    if (!also.empty()) also.pop_back();
    const Shape& shape = layer.shape;
    rows.push_back({std::to_string(layer.layer), std::to_string(shape.query_heads),
                    std::to_string(shape.kv_heads), std::to_string(shape.head_dim),
                    std::to_string(shape.value_dim), std::string(name_of(layer.query_dtype)),
                    std::string(name_of(shape.dtype)), fmt::format("{}", shape.scale),
                    also.empty() ? "-" : also});
  }
  return out + '\n' + table_text(rows);
}

}  // namespace

Run declare_info(CLI::App& app, Files& files, const Globals& globals) {
  app.description(
      "What this build can use here, or what a trace holds\n\n"
      "Without TRACE: version, compiled sets of kernels (targets), which of them run on this CPU "
      "and which one is in use, threads, libraries. With TRACE: its layers, heads, dimensions, "
      "types, positions and metadata; the header is checked whole, the numbers are not read.");
  app.footer("tamis info data/smollm2-kjv-8k-small.safetensors");
  auto path = std::make_shared<std::optional<std::string>>();
  add_trace(app, files, "TRACE", *path);
  return [path, &globals] {
    if (!path->has_value()) {
      fmt::print("{}", globals.json ? json_text(build_json(globals)) : build_text(globals));
      return 0;
    }
    const lab::Trace trace(path->value());
    fmt::print("{}", globals.json ? json_text(trace_json(trace)) : trace_text(trace));
    return 0;
  };
}

}  // namespace tamis::cli
