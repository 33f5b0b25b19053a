// tamis attend: attention of every query of a trace. One layer in memory at a time, and the results.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <tamis/error.h>
#include <tamis/tensor.h>
#include <tamis/trace.h>

#include "attend/budgets.h"
#include "attend/check.h"
#include "attend/dense.h"
#include "attend/replay.h"
#include "attend/report.h"
#include "command.h"
#include "files.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

constexpr const char* description =
    "Attention of every query of a trace, with a certificate for each\n\n"
    "Computes, for each layer, the output and the log-sum-exp (lse) of every query over the keys it sees. "
    "Each result has a certificate: tau bounds the total-variation distance between exact attention and "
    "the weights used, error bounds the Euclidean distance of the output from exact attention, keys and "
    "bytes say what was read. With --dense every key is read and the bounds are those of rounding. With "
    "--budget only what the budget asks for is read:\n\n"
    "  mass:EPS        until tau is proven to be at most EPS; dense where cheaper\n"
    "  bytes:SHARE     at most this share of the bytes that dense attention reads\n"
    "  topk:K          as many bytes as K exact keys per query\n"
    "  power:ALPHA,C   topk with K = ALPHA*n^C for a query that sees n keys\n"
    "  window:W,SINKS  the last W and the first SINKS keys, the rest dropped\n"
    "  profile:FILE    for each head its own, from a profile, which is JSON:\n"
    "                  {\"heads\": [{\"layer\": 3, \"head\": 0,\n"
    "                              \"budget\": \"mass:0.05\"}, ...]}\n\n"
    "With a budget the trace is replayed as decode: every query is a step of its own, in which heads that "
    "share a KV head share what they read. Before the first step an index is built over all tokens of the "
    "layer, also those that a query does not see and then does not read. It holds keys at 4 bits (the "
    "coarse mesh, read for every key), 8 bits (middle) and values at 4 bits; what carries more weight is "
    "read as stored (exact). Keys that are not read exactly count by what the coarser meshes say about "
    "them; with --ladder off they are dropped. Queries for which this does not pay are computed densely, "
    "to the same bits as with --dense for so few queries; a replay goes by the bytes read, not by time.\n\n"
    "With --check everything is computed again in f64, and queries are counted whose true error exceeds "
    "the certified one, whose lse is off by more than its bound or, with a budget, whose weights are "
    "farther from the softmax than tau; if there is one, the exit status is 1.\n\n"
    "--out writes safetensors; for each layer L:\n\n"
    "  layers.L.out        f32  [heads, queries, d]  output\n"
    "  layers.L.lse        f32  [heads, queries]     log of the sum of exp(logit)\n"
    "  layers.L.tau        f64  [heads, queries]     certificate\n"
    "  layers.L.error      f64  [heads, queries]     certificate\n"
    "  layers.L.lse_error  f64  [heads, queries]     certificate\n"
    "  layers.L.keys       i64  [heads, queries]     keys read exactly\n"
    "  layers.L.bytes      i64  [heads, queries]     bytes read, index included\n"
    "  layers.L.grade      u8   [heads, queries]     0: proved\n"
    "  layers.L.dense      u8   [heads, queries]     1: every key and value was read\n\n"
    "Heads that share a KV head share keys and bytes: each has the same counts. The metadata name the "
    "trace, the budget, the target and the version. The file does not depend on the number of threads.\n\n"
    "--json prints {trace, budget, queries, checked, violations, dense_fallbacks, tau, error, lse_error, "
    "bytes, keys, layers, target, backend, threads, seconds, version}. A query counts once per head and "
    "layer; violations is null unless checked; tau, error, lse_error, bytes and keys are {median, p90, "
    "max}, those that --check measured have the measured ones as true; bytes and keys are shares of "
    "what dense attention reads once per KV head and query, which is given as dense; seconds is the time "
    "of attention alone. A number that is not finite is null.\n\n"
    "With a budget there are also ladder, index {bytes, share of K and V, build_seconds} and meshes "
    "{coarse, middle, exact}, each with the shares of bytes, keys and values read at that precision, their "
    "mean included; under --check relative_error, the true error by the norm of the exact output, and "
    "ratios {tau, error}, certified by true over the queries that were not computed densely. Each entry of "
    "layers has the same fields.";

struct Options {
  std::string trace;
  std::optional<std::string> out;
  std::vector<std::int64_t> layers;
  std::optional<std::string> budget;
  std::optional<std::string> ladder;
  std::string grade = "proved";
  bool dense = false;
  bool check = false;
};

/// A failure inside the numbers of a layer, with the file and the layer it came from.
template <class Body>
void in_layer(const Trace& trace, const TraceLayer& layer, const Body& body) try {
  body();
} catch (const Error& error) {
  if (error.code() != Code::input) throw;
  throw Error(Code::input, fmt::format("{}: layer {}: {}", trace.path(), layer.layer, error.what()));
}

void check_mode(const Options& options) {
  if (options.dense && options.budget)
    throw Error(Code::usage, "--dense and --budget exclude each other; give one of them");
  if (!options.dense && !options.budget)
    throw Error(Code::usage, "attend: give --budget, or --dense to read everything");
  if (options.dense && options.ladder)
    throw Error(Code::usage, "--ladder says how to read sparsely; it needs --budget instead of --dense");
}

Progress progress_of(const Trace& trace, std::span<const TraceLayer> layers, const Options& options) {
  double pairs = 0;
  double tokens = 0;
  for (const TraceLayer& layer : layers) {
    pairs += pairs_of(trace, layer);
    tokens += static_cast<double>(layer.shape.kv_heads * trace.tokens());
  }
  return Progress({{"index", options.budget ? tokens : 0},
                   {"attention", pairs},
                   {"weights", options.budget && options.check ? pairs : 0},
                   {"check", options.check ? pairs : 0}});
}

int attend(const Options& options, const Globals& globals) {
  check_mode(options);
  std::optional<Budgets> budgets;
  if (options.budget) budgets.emplace(*options.budget);
  const Trace trace(options.trace);
  const std::vector<TraceLayer> layers = chosen_layers(trace, options.layers);
  std::vector<std::vector<Budget>> layer_budgets;
  if (budgets)
    for (const TraceLayer& layer : layers) layer_budgets.push_back(budgets->of_layer(trace, layer));
  watch_interrupts();

  Workspace workspace(globals.threads);
  AttendReport report;
  if (budgets) report.reading = {budgets->text(), budgets->label(), options.ladder != "off"};
  report.checked = options.check;
  report.threads = workspace.threads();
  report.backend = globals.backend;
  {
    Progress progress = progress_of(trace, layers, options);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      stop_if_interrupted();
      const TraceLayer& layer = layers[l];
      const LayerData data = trace.read(layer);
      in_layer(trace, layer, [&] {
        if (!budgets) {
          report.layers.push_back(dense_layer(trace, layer, data, workspace, progress));
        } else {
          const Replay replay(trace, layer, data, layer_budgets[l], report.reading->ladder, workspace,
                              progress);
          report.layers.push_back(replay.run(workspace, progress));
          if (options.check)
            measure_weights(trace, data, replay, workspace, progress, report.layers.back());
        }
        if (options.check) {
          measure_outputs(trace, data, report.threads, progress, report.layers.back());
          count_violations(trace, data, report.layers.back());
        }
      });
      if (!options.out) report.layers.back().out = {};
    }
  }
  stop_if_interrupted();
  if (options.out) write_results(*options.out, trace, report);
  stop_if_interrupted();
  fmt::print("{}", globals.json ? json_text(trace, report) : table_text(trace, report));
  return std::ranges::all_of(report.layers, [](const LayerResult& layer) { return layer.violations == 0; })
             ? 0
             : 1;
}

}  // namespace

Run declare_attend(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis attend data/smollm2-kjv-8k-small.safetensors --budget mass:0.05 --check");
  auto options = std::make_shared<Options>();
  files
      .reads(app.add_option("TRACE", options->trace, "a trace (safetensors; format in docs/trace.md)"),
             "TRACE")
      ->required();
  files.reads(app.add_option("--budget", options->budget, "how much to read, in one of the forms above"),
              "BUDGET", profile_in);
  one_of(app.add_option("--ladder", options->ladder, "use keys that are not read exactly (default: on)"),
         {"on", "off"});
  one_of(app.add_option("--grade", options->grade, "how sure certificates must be (default: proved)"),
         {"proved"});
  app.add_flag("--dense", options->dense, "read every key, in place of a budget");
  app.add_flag("--check", options->check, "compare with the f64 reference; exit 1 on a violation");
  files.writes(
      app.add_option("--out", options->out, "write outputs and certificates to this safetensors file"));
  app.add_option("--layer", options->layers, "only this layer of the trace")
      ->type_name("L")
      ->allow_extra_args(false);
  return [options, &globals] { return attend(*options, globals); };
}

}  // namespace tamis::cli
