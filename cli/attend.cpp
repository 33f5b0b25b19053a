// tamis attend: computes attention for every query of a trace. Memory holds one layer at a time,
// and the results of all layers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <tamis/error.h>
#include <tamis/lab/tensor.h>
#include <tamis/lab/trace.h>

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
    "Computes, for each layer, the output and the log-sum-exp (lse) of every query over the keys "
    "it sees. Each result has a certificate: tau bounds the total-variation distance between exact "
    "attention and the weights used, error bounds the Euclidean distance of the output from exact "
    "attention, keys and bytes say what was read. With --dense every key is read and the bounds "
    "are those of rounding. With --budget only what the budget asks for is read:\n\n"
    "  mass:EPS        until tau is proven to be at most EPS\n"
    "  bytes:SHARE     at most this share of the bytes that dense attention reads\n"
    "  topk:K          the K coded keys of largest weight, the rest dropped\n"
    "  power:ALPHA,C   topk with K = ALPHA*n^C for a query that sees n keys\n"
    "  window:W,SINKS  the last W and the first SINKS keys, the rest dropped;\n"
    "                  raw tokens are used whatever these three say\n"
    "  profile:FILE    for each head its own, from a profile, which is JSON:\n"
    "                  {\"heads\": [{\"layer\": 3, \"head\": 0,\n"
    "                              \"budget\": \"mass:0.05\"}, ...]}\n\n"
    "With a budget the trace is replayed as decode. Each layer has a cache, which stores keys and "
    "values once, in planes of 4 bits: what the first query sees is appended at once, as a prompt "
    "is, then one token at a time, and every query attends when the cache has just the tokens that "
    "it sees, in a step of its own, in which heads that share a KV head share what they read. The "
    "first plane of every key is looked at; of the keys and values that matter more is read. "
    "--bits says how many bits of a number are stored: 12 unless given, or 16 where a mass budget "
    "is below 0.02, which 12 bits often cannot prove. The first and the last tokens are kept as "
    "they are, and short sequences as a whole. Where all stored bits were read and the budget was "
    "still not proved, the result says so and proves what it can.\n\n"
    "With --check everything is computed again in f64 from the numbers of the trace, and queries "
    "are counted whose true error exceeds the certified one or whose lse is off by more than its "
    "bound; if there is one, the exit status is 1. Whether tau bounds the weights cannot be seen "
    "from outside.\n\n"
    "--out writes safetensors; for each layer L:\n\n"
    "  layers.L.out        f32  [heads, queries, d]  output\n"
    "  layers.L.lse        f32  [heads, queries]     log of the sum of exp(logit)\n"
    "  layers.L.tau        f64  [heads, queries]     certificate\n"
    "  layers.L.error      f64  [heads, queries]     certificate\n"
    "  layers.L.lse_error  f64  [heads, queries]     certificate\n"
    "  layers.L.keys       i64  [heads, queries]     keys read whole\n"
    "  layers.L.bytes      i64  [heads, queries]     bytes read\n"
    "  layers.L.grade      u8   [heads, queries]     0: proved\n"
    "  layers.L.dense      u8   [heads, queries]     1: every key and value was read\n"
    "  layers.L.reached    u8   [heads, queries]     with a budget; 0: met, 1: stored\n"
    "                           bits, 2: look alone, 3: not finite\n\n"
    "A key is read whole as it was appended, or with all its stored bits. Heads that share a KV "
    "head share keys and bytes: each has the same counts. The metadata name the trace, the budget, "
    "the target and the version. The file does not depend on the number of threads.\n\n"
    "--json prints {trace, budget, queries, checked, violations, dense_fallbacks, tau, error, "
    "lse_error, bytes, keys, layers, target, backend, threads, seconds, version}. A query counts "
    "once per head and layer; violations is null unless checked; tau, error, lse_error, bytes and "
    "keys are {median, p90, max}, error and lse_error with the measured ones as true under "
    "--check; bytes and keys are shares of what dense attention reads once per KV head and query, "
    "which is given as dense, keys being those read whole; with a budget bytes are a share of 16 "
    "bits a number, and bytes and keys also have mean. seconds is the time of attention alone. A "
    "number that is not finite is null.\n\n"
    "With a budget there are also bits; reached {met, stored_bits, look_alone, not_finite}, how "
    "many queries met the budget, needed more than the stored bits, exceeded a budget of bytes by "
    "what is read anyway, or have no finite logits; read, the mean shares of keys and values by "
    "what was read of them: raw, 4, 8, 12 or 16 bits, and values for which the centre of their "
    "block stands or nothing; cache_bytes and cache_share, what the caches take at the end, and as "
    "a share of their keys and values in bf16; append_seconds; under --check relative_error, the "
    "true error divided by the norm of the exact output, and ratios {error}: certified divided by "
    "true, over the queries that were not computed densely. Each entry of layers has the same "
    "fields.";

std::string not_negative(const std::string& text) {
  std::int64_t number = 0;
  if (CLI::detail::lexical_cast(text, number) && number >= 0) return {};
  return fmt::format("'{}' is not a whole number from 0 on", text);
}

struct Options {
  std::string trace;
  std::optional<std::string> out;
  std::vector<std::int64_t> layers;
  std::optional<std::string> budget;
  std::optional<int> bits;
  std::optional<std::int64_t> dense_below;
  std::optional<std::string> prefer;
  std::string grade = "proved";
  bool dense = false;
  bool check = false;
};

/// Runs `body`, and adds the file and the layer to the message of an Error(input) about the
/// numbers of a layer.
template <class Body>
void in_layer(const lab::Trace& trace, const lab::TraceLayer& layer, const Body& body) try {
  body();
} catch (const Error& error) {
  if (error.code() != Code::input) throw;
  throw Error(Code::input,
              fmt::format("{}: layer {}: {}", trace.path(), layer.layer, error.what()));
}

void check_mode(const Options& options) {
  if (options.dense && options.budget)
    throw Error(Code::usage, "--dense and --budget exclude each other; give one of them");
  if (!options.dense && !options.budget)
    throw Error(Code::usage, "attend: give --budget, or --dense to read everything");
  const char* sparse = options.bits ? "--bits" : options.dense_below ? "--dense-below" : "--prefer";
  if (options.dense && (options.bits || options.dense_below || options.prefer))
    throw Error(
        Code::usage,
        fmt::format("{} says how to read sparsely; it needs --budget instead of --dense", sparse));
}

Progress progress_of(const lab::Trace& trace, std::span<const lab::TraceLayer> layers,
                     const Options& options) {
  double pairs = 0;
  double tokens = 0;
  for (const lab::TraceLayer& layer : layers) {
    pairs += pairs_of(trace, layer);
    tokens += static_cast<double>(layer.shape.kv_heads * trace.tokens());
  }
  return Progress({{"append", options.budget ? tokens : 0},
                   {"attention", pairs},
                   {"check", options.check ? pairs : 0}});
}

/// Returns the bits stored per number: those asked for, or enough for the smallest budget of any
/// layer.
int bits_of(const Options& options, std::span<const std::vector<Budget>> budgets) {
  int bits = options.bits.value_or(0);
  if (!options.bits)
    for (const std::vector<Budget>& layer : budgets) bits = std::max(bits, bits_for(layer));
  return bits;
}

ReplayOptions replay_options(const Options& options, int bits) {
  ReplayOptions replay{bits, {}};
  if (options.dense_below) replay.attend.dense_below = *options.dense_below;
  if (options.prefer == "time") replay.attend.prefer = Prefer::time;
  return replay;
}

int attend(const Options& options, const Globals& globals) {
  check_mode(options);
  std::optional<Budgets> budgets;
  if (options.budget) budgets.emplace(*options.budget);
  const lab::Trace trace(options.trace);
  const std::vector<lab::TraceLayer> layers = chosen_layers(trace, options.layers);
  std::vector<std::vector<Budget>> layer_budgets;
  if (budgets)
    for (const lab::TraceLayer& layer : layers)
      layer_budgets.push_back(budgets->of_layer(trace, layer));
  watch_interrupts();

  Workspace workspace(globals.threads);
  AttendReport report;
  const ReplayOptions replay_with = replay_options(options, bits_of(options, layer_budgets));
  if (budgets) report.reading = {budgets->text(), budgets->label(), replay_with.bits};
  report.checked = options.check;
  report.threads = workspace.threads();
  report.backend = globals.backend;
  {
    Progress progress = progress_of(trace, layers, options);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      stop_if_interrupted();
      const lab::TraceLayer& layer = layers[l];
      const lab::LayerData data = trace.read(layer);
      in_layer(trace, layer, [&] {
        report.layers.push_back(
            budgets ? replay(trace, layer, data, layer_budgets[l], replay_with, workspace, progress)
                    : dense_layer(trace, layer, data, workspace, progress));
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
  return std::ranges::all_of(report.layers,
                             [](const LayerResult& layer) { return layer.violations == 0; })
             ? 0
             : 1;
}

}  // namespace

Run declare_attend(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis attend data/smollm2-kjv-8k-small.safetensors --budget mass:0.05 --check");
  auto options = std::make_shared<Options>();
  add_trace(app, files, "TRACE", options->trace)->required();
  files.reads(
      app.add_option("--budget", options->budget, "how much to read, in one of the forms above"),
      "BUDGET", profile_in);
  one_of(app.add_option("--bits", options->bits,
                        "bits stored of a number (default: 12, or 16 below mass:0.02)"),
         {"8", "12", "16"});
  app.add_option("--dense-below", options->dense_below,
                 "read everything for queries that see fewer than N tokens (default: 0)")
      ->type_name("N")
      ->check(CLI::Validator(not_negative, "", "at least 0"));
  one_of(app.add_option("--prefer", options->prefer,
                        "what to save where there is a choice (default: bytes)"),
         {"bytes", "time"});
  one_of(
      app.add_option("--grade", options->grade, "how sure certificates must be (default: proved)"),
      {"proved"});
  app.add_flag("--dense", options->dense, "read every key, in place of a budget");
  app.add_flag("--check", options->check, "compare with the f64 reference; exit 1 on a violation");
  files.writes(app.add_option("--out", options->out,
                              "write outputs and certificates to this safetensors file"));
  app.add_option("--layer", options->layers, "only this layer of the trace")
      ->type_name("L")
      ->allow_extra_args(false);
  return [options, &globals] { return attend(*options, globals); };
}

}  // namespace tamis::cli
