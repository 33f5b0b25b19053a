// tamis attend: attention of every query of a trace. One layer in memory at a time, and the results.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <tamis/error.h>
#include <tamis/tensor.h>
#include <tamis/trace.h>

#include "attend/layer.h"
#include "attend/report.h"
#include "command.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

constexpr const char* description =
    "Attention of every query of a trace, with a certificate for each\n\n"
    "Computes, for each layer, the output and the log-sum-exp (lse) of every query over the keys it sees. "
    "Each result has a certificate: tau bounds the total-variation distance between exact attention and "
    "the weights used, error bounds the Euclidean distance of the output from exact attention, keys and "
    "bytes say what was read. With --dense every key is read and the bounds are those of rounding.\n\n"
    "With --check everything is computed again in f64, and queries are counted whose true error exceeds "
    "the certified one or whose lse is off by more than its bound; if there is one, the exit status is "
    "1.\n\n"
    "--out writes safetensors; for each layer L:\n\n"
    "  layers.L.out    f32  [heads, queries, d]  output\n"
    "  layers.L.lse    f32  [heads, queries]     log of the sum of exp(logit)\n"
    "  layers.L.tau    f64  [heads, queries]     certificate\n"
    "  layers.L.error  f64  [heads, queries]     certificate\n"
    "  layers.L.keys   i64  [heads, queries]     keys read\n"
    "  layers.L.bytes  i64  [heads, queries]     bytes of K and V read\n"
    "  layers.L.grade  u8   [heads, queries]     0: proved\n\n"
    "Its metadata name the trace, the budget, the target and the version. The file does not depend on "
    "the number of threads.\n\n"
    "--json prints {trace, budget, queries, checked, violations, dense_fallbacks, tau, error, lse_error, "
    "bytes, keys, layers, target, backend, threads, seconds, version}. A query counts once per head and "
    "layer; violations is null unless checked; tau, error, lse_error, bytes and keys are {median, p90, "
    "max}, under --check error and lse_error have the measured ones as true; bytes and keys are shares of "
    "what dense attention reads once per KV head and query, which is given as dense; seconds is the time "
    "of attention alone.";

struct Options {
  std::string trace;
  std::optional<std::string> out;
  std::vector<std::int64_t> layers;
  bool dense = false;
  bool check = false;
};

/// The layers asked for, in the order of the trace.
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

/// Before hours of work, not after: can the result be written, and would it replace the input?
void check_out(const std::string& out, const std::string& trace) try {
  std::error_code ignored;
  if (std::filesystem::equivalent(out, trace, ignored))
    throw Error(Code::usage, fmt::format("{}: is the trace itself; give another name", out));
  check_writable(out);
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("--out: {}", error.what()));
}

/// A failure inside the numbers of a layer, with the file and the layer it came from.
template <class Body>
void in_layer(const Trace& trace, const TraceLayer& layer, const Body& body) try {
  body();
} catch (const Error& error) {
  if (error.code() != Code::input) throw;
  throw Error(Code::input, fmt::format("{}: layer {}: {}", trace.path(), layer.layer, error.what()));
}

int attend(const Options& options, const Globals& globals) {
  if (!options.dense) throw Error(Code::usage, "attend: give --dense; it is the only mode of this version");
  const Trace trace(options.trace);
  const std::vector<TraceLayer> layers = chosen_layers(trace, options.layers);
  watch_interrupts();
  if (options.out) check_out(*options.out, options.trace);

  Workspace workspace(globals.threads);
  AttendReport report{options.check, workspace.threads(), globals.backend, {}};
  {
    double pairs = 0;
    for (const TraceLayer& layer : layers) pairs += pairs_of(trace, layer);
    Progress progress({{"attention", pairs}, {"check", options.check ? pairs : 0}});
    for (const TraceLayer& layer : layers) {
      stop_if_interrupted();
      const LayerData data = trace.read(layer);
      in_layer(trace, layer, [&] {
        report.layers.push_back(attend_layer(trace, layer, data, workspace, progress));
        if (options.check) check_layer(trace, data, report.threads, progress, report.layers.back());
      });
      if (!options.out) report.layers.back().out = {};
    }
  }
  stop_if_interrupted();
  if (options.out) write_results(*options.out, trace, report);
  stop_if_interrupted();
  fmt::print("{}", globals.json ? json_text(trace, report) : table_text(trace, report));
  return report.violations() == 0 ? 0 : 1;
}

}  // namespace

Run declare_attend(CLI::App& app, const Globals& globals) {
  app.description(description);
  app.footer("tamis attend data/smollm2-kjv-8k-small.safetensors --dense --check");
  auto options = std::make_shared<Options>();
  app.add_option("TRACE", options->trace, "a trace (safetensors; format in docs/trace.md)")
      ->type_name("TRACE")
      ->required();
  app.add_flag("--dense", options->dense, "read every key; the only mode of this version");
  app.add_flag("--check", options->check, "compare with the f64 reference; exit 1 on a violation");
  app.add_option("--out", options->out, "write outputs and certificates to this safetensors file")
      ->type_name("FILE");
  app.add_option("--layer", options->layers, "only this layer of the trace")
      ->type_name("L")
      ->allow_extra_args(false);
  return [options, &globals] { return attend(*options, globals); };
}

}  // namespace tamis::cli
