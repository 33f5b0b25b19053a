// tamis profile: measures how sparse every head of a trace is, and by which law that grows. Takes
// the time of one or two passes of dense attention. Memory holds one layer at a time and, with
// --rows, the figures of all layers.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include <tamis/error.h>
#include <tamis/lab/profile.h>
#include <tamis/text.h>

#include "command.h"
#include "files.h"
#include "numbers.h"
#include "profile/report.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"
#include "terminal/shown.h"

namespace tamis::cli {
namespace {

constexpr const char* description =
    "How sparse each head's attention is, and by which law that grows\n\n"
    "For every query the softmax over the keys it sees is measured: k, the fewest keys that hold "
    "all mass but a share eps; the mass of the heaviest key (top-1); the effective support e^H, H "
    "being the entropy; the mass of the first token, or of the first --sinks tokens, and of the "
    "last tokens; mean and spread sigma of the logits. Logits are those of attend --dense; k is "
    "exactly that of these logits.\n\n"
    "For every head, over its queries: which law k follows as n, the number of keys seen, grows "
    "(constant, log for alpha*log n, power for alpha*n^C, linear for alpha*n, gaussian for what "
    "Gaussian logits of a fixed spread would need, none if none fits), the exponent C with a 95% "
    "interval that respects dependence between neighbouring rows, and a rule k = alpha*n^C that is "
    "calibrated (split conformal) so that the heaviest k keys keep mass 1 - eps on a share 1 - "
    "delta of rows. The rule is tried on rows that it was not made from, beside a fixed k and a "
    "fixed window with the same promise. That promise is for rows exchangeable with those "
    "calibrated on: other texts, or longer ones, are not.\n\n"
    "Where the trace holds W_Q and W_K, R = B^2*|W|_F is given with its range over rotary offsets "
    "and what it predicts; this needs the bound B too.\n\n"
    "--out writes the profile as JSON: attend --budget profile:FILE reads for each head the rule "
    "of the first eps (or mass:EPS, where there are too few rows to calibrate one), and --against "
    "compares another profile with it, head by head. --rows writes the figures of every row as "
    "safetensors; for each layer L:\n\n"
    "  layers.L.n                  i64  [h, q]           keys seen\n"
    "  layers.L.k_eps              i64  [h, q, eps]      fewest keys, mass 1 - eps\n"
    "  layers.L.w_eps              i64  [h, q, eps]      least window, mass 1 - eps\n"
    "  layers.L.null               f64  [h, q, eps]      k_eps of Gaussian logits\n"
    "  layers.L.curve              f64  [h, q, grid]     mass of the heaviest\n"
    "  layers.L.grid               i64  [grid]           how many of them\n"
    "  layers.L.top1               f64  [h, q]\n"
    "  layers.L.entropy            f64  [h, q]           nats\n"
    "  layers.L.effective_support  f64  [h, q]           e^entropy\n"
    "  layers.L.sink               f64  [h, q]           mass of the first tokens\n"
    "  layers.L.window             f64  [h, q, windows]  mass of the last tokens\n"
    "  layers.L.mean               f64  [h, q]           of the logits\n"
    "  layers.L.sigma              f64  [h, q]           their standard deviation\n\n"
    "--vega writes a Vega-Lite 5 page with its data inside: law and C by layer and head, collapse "
    "(top-1 mass, effective support and sink mass against n), and k against n with its law for "
    "every head.\n\n"
    "--json prints what --out writes, with against, target, backend, threads and seconds added. "
    "Its heads are [{layer, head, eps, rows, budget, k_eps, law, alpha, C, C_low, C_high, ...}]; "
    "docs/profile.md describes every member. Quantiles are {p10, median, p90}; what could not be "
    "had is null.";

struct Options {
  std::string trace;
  std::string eps = "0.01,0.05";
  double delta = 0.1;
  std::int64_t sinks = 1;
  std::string windows = "64,256,1024";
  std::vector<std::int64_t> layers;
  std::uint64_t seed = 0;
  std::optional<std::string> out;
  std::optional<std::string> rows;
  std::optional<std::string> vega;
  std::optional<std::string> against;
};

/// Checks, before the work starts, that the profile can be compared with that of --against.
void check_against(const lab::Trace& trace, const lab::ProfileOptions& wanted,
                   const lab::Profile& against, const std::string& path) try {
  lab::check_comparable(trace, wanted, against);
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("--against {}: {}", path, error.what()));
}

lab::ProfileOptions profile_options(const Options& options) {
  lab::ProfileOptions result;
  result.rows = {list_of<double>("--eps", options.eps), options.sinks,
                 list_of<std::int64_t>("--windows", options.windows)};
  result.delta = options.delta;
  result.law.seed = options.seed;
  result.layers = options.layers;
  return result;
}

int run_profile(const Options& options, const Globals& globals) {
  const lab::ProfileOptions wanted = profile_options(options);
  std::optional<lab::Profile> against;
  if (options.against) against = lab::read_profile(*options.against);
  const lab::Trace trace(options.trace);
  (void)chosen_layers(trace, options.layers);
  if (against) check_against(trace, wanted, *against, *options.against);
  watch_interrupts();

  Workspace workspace(globals.threads);
  RowsFile rows;
  lab::RowsCallback keep;
  if (options.rows)
    keep = [&](const lab::TraceLayer& layer, const lab::RowFigures& figures) {
      rows.add(layer, figures);
    };
  std::optional<lab::Profile> result;
  const auto begin = std::chrono::steady_clock::now();
  {
    Shown shown("rows");
    result = lab::profile(trace, wanted, workspace, shown.callback(), keep);
  }
  const ProfileReport report{*result,         std::move(against),  options.against.value_or(""),
                             globals.backend, workspace.threads(), seconds_since(begin)};
  const std::string text = globals.json ? profile_json(report) : profile_table(report);
  stop_if_interrupted();
  if (options.out) lab::write_profile(*options.out, *result);
  if (options.rows) rows.write(*options.rows, *result);
  if (options.vega) write_text(*options.vega, vega_text(*result));
  stop_if_interrupted();
  fmt::print("{}", text);
  return 0;
}

}  // namespace

Run declare_profile(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis profile data/smollm2-kjv-8k-small.safetensors --eps 0.01,0.05");
  auto options = std::make_shared<Options>();
  add_trace(app, files, "TRACE", options->trace)->required();
  app.add_option("--eps", options->eps, "shares of mass to leave out (default: 0.01,0.05)")
      ->type_name("E,...");
  app.add_option("--delta", options->delta, "share of rows that a rule may fail (default: 0.1)")
      ->type_name("D");
  app.add_option("--sinks", options->sinks, "tokens at the start counted as sinks (default: 1)")
      ->type_name("S");
  app.add_option("--windows", options->windows,
                 "widths of windows at the end (default: 64,256,1024)")
      ->type_name("W,...");
  app.add_option("--layer", options->layers, "only this layer of the trace")
      ->type_name("L")
      ->allow_extra_args(false);
  a_seed(app.add_option("--seed", options->seed,
                        "seed of the bootstrap and of the split of rows (default: 0)")
             ->type_name("N"));
  files.writes(app.add_option("--out", options->out, "write the profile to this file, as JSON"));
  files.writes(app.add_option("--rows", options->rows,
                              "write the figures of every row to this safetensors file"));
  files.reads(
      app.add_option("--against", options->against, "compare with the profile in this file"),
      "FILE");
  files.writes(
      app.add_option("--vega", options->vega, "write charts to this file, as Vega-Lite JSON"));
  return [options, &globals] { return run_profile(*options, globals); };
}

}  // namespace tamis::cli
