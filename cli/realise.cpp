// tamis realise: finds queries and keys that produce a pattern, and verifies them before writing
// them. Takes the time of its descents: seconds for a thousand rows, minutes for ten thousand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/lab/bounds.h>
#include <tamis/lab/dmin.h>
#include <tamis/lab/realise.h>
#include <tamis/text.h>

#include "command.h"
#include "conditions.h"
#include "pattern_file.h"
#include "terminal/interrupt.h"
#include "terminal/json.h"
#include "terminal/shown.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* description =
    "Find queries and keys that produce a pattern\n\n"
    "The logits L = q*k^T of what is found satisfy, for every row i of the pattern A,\n\n"
    "  (23)  L_ij - L_il < log eps1                  where A_ij = 0, A_il != 0\n"
    "  (24)  |L_ij - L_il - log(A_ij/A_il)| < eps2   where both are nonzero\n\n"
    "checked in exact arithmetic, as tamis verify does. Methods:\n\n"
    "  jl       the paper's random projection of the matrix of its equation (9),\n"
    "           redrawn until it works; square patterns\n"
    "  moment   keys on a circle in 2k dimensions, k nonzeros in the fullest row;\n"
    "           norms grow fast with the number of columns\n"
    "  descent  queries and keys by optimisation, norms as small as it finds\n"
    "  auto     descent; in 2k columns or more also moment, and a descent from its\n"
    "           points, where descent found nothing; in 2k to 4k columns moment in\n"
    "           any case, where the norm product has no limit\n\n"
    "With --dim the smallest norm product max|q|*max|k| that is found in that many columns; "
    "without it, for auto and descent, the fewest columns that can be verified with a norm product "
    "of at most --max-norm (default: that of the matrix of equation (9), which the paper "
    "projects); for a square pattern auto then also tries jl, as a last resort, in as many columns "
    "as rows. jl takes by default the dimension that the sharper bound proves, moment 2k. The "
    "paper's form has d = 2m for m columns here; jl --hidden H writes x, w_q and w_k in it as "
    "well, H >= 2m.\n\n"
    "--out writes a witness (docs/witness.md), f32 where that verifies. Same seed, same bits, "
    "whatever the threads. --json prints {verified, method, dim, max_logit, norm_product, redraws, "
    "seconds, margin, arithmetic, conditions, paper_norm, norm_lower_bound, bound_6, "
    "bound_sharper, attempts, ...}; bounds are in columns (m), null where they exceed the rows. "
    "Exit status 0 if a witness was found, 1 if not.";

struct Options {
  PatternFile pattern;
  std::optional<std::string> out;
  std::string method = "auto";
  std::optional<std::int64_t> dim;
  std::optional<double> max_norm;
  std::optional<std::int64_t> hidden;
  std::int64_t redraws = 0;
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  AskedConditions conditions;
};

struct Bounds {
  double norm_lower = 0;
  double paper_norm = 0;
  std::optional<lab::DimensionBound> paper, sharper;
};

Bounds bounds_of(const lab::Pattern& pattern, const lab::Conditions& conditions) {
  return {lab::norm_lower_bound(pattern, conditions), lab::paper_norm(pattern, conditions),
          lab::paper_bound(pattern, conditions), lab::sharper_bound(pattern, conditions)};
}

std::string bound_text(const std::optional<lab::DimensionBound>& bound) {
  if (!bound) return "none (for square patterns)";
  return fmt::format("m = {}{}", bound->d / 2, bound->vacuous ? ", vacuous: above the rows" : "");
}

struct Report {
  const Options& options;
  const lab::Pattern& pattern;
  const lab::Conditions& conditions;
  const lab::Realisation& result;
  Bounds bounds;
  int threads;
};

std::string report_json(const Report& report) {
  const lab::Realisation& result = report.result;
  const bool found = result.witness.has_value();
  const auto if_found = [&](auto value) { return found ? ordered_json(value) : ordered_json(); };
  ordered_json attempts = ordered_json::array();
  for (const lab::Attempt& attempt : result.attempts)
    attempts.push_back({{"method", lab::name_of(attempt.method)},
                        {"dim", attempt.dim},
                        {"verified", attempt.verified},
                        {"norm_product", number_or_null(attempt.norm_product)},
                        {"seconds", attempt.seconds},
                        {"why", attempt.why}});
  const lab::Verification& verification = result.verification;
  const lab::PatternFigures figures = lab::figures_of(report.pattern);
  return json_text(ordered_json{
      {"verified", found},
      {"method", if_found(lab::name_of(result.method))},
      {"dim", if_found(result.dim)},
      {"max_logit", if_found(verification.max_logit)},
      {"norm_product", if_found(verification.norm_product)},
      {"redraws", result.redraws},
      {"seconds", result.seconds},
      {"margin",
       found ? number_or_null(verification[lab::Arithmetic::exact].margin) : ordered_json()},
      {"arithmetic", holds_in(report.result.verification)},
      {"dtype", found ? ordered_json(name_of(result.witness->q.info().dtype)) : ordered_json()},
      {"conditions", conditions_json(report.conditions)},
      {"paper_norm", unless_weak(report.conditions, report.bounds.paper_norm)},
      {"norm_lower_bound", report.bounds.norm_lower},
      {"bound_6", bound_json(report.bounds.paper)},
      {"bound_sharper", bound_json(report.bounds.sharper)},
      {"pattern", report.options.pattern.name},
      {"rows", report.pattern.rows},
      {"columns", report.pattern.cols},
      {"nonzeros", report.pattern.nonzeros()},
      {"dropped", report.pattern.dropped},
      {"k_rows", figures.most_per_row},
      {"k_columns", figures.most_per_column},
      {"gamma", number_or_null(figures.gamma)},
      {"out", report.options.out && found ? ordered_json(*report.options.out) : ordered_json()},
      {"seed", report.options.seed},
      {"threads", report.threads},
      {"attempts", attempts}});
}

std::string attempts_text(const lab::Realisation& result) {
  std::vector<std::vector<std::string>> rows{
      {"tried", "columns", "norm product", "seconds", "outcome"}};
  for (const lab::Attempt& attempt : result.attempts)
    rows.push_back(
        {lab::name_of(attempt.method), std::to_string(attempt.dim),
         std::isfinite(attempt.norm_product) ? fmt::format("{:.4g}", attempt.norm_product) : "-",
         fmt::format("{:.2f}", attempt.seconds), attempt.verified ? "verified" : attempt.why});
  return table_text(rows, LastColumn::words);
}

std::string report_text(const Report& report) {
  const lab::Realisation& result = report.result;
  const lab::PatternFigures figures = lab::figures_of(report.pattern);
  std::string text = fmt::format(
      "pattern       {}: {} × {}, {} nonzeros, k {} by rows and {} by columns, γ {:.6g}\n"
      "{}conditions    {}\n",
      printable(report.options.pattern.name), report.pattern.rows, report.pattern.cols,
      report.pattern.nonzeros(), figures.most_per_row, figures.most_per_column, figures.gamma,
      dropped_text(report.pattern, 14), conditions_text(report.conditions));
  if (result.witness) {
    const lab::Verification& verification = result.verification;
    const lab::Checked& exact = verification[lab::Arithmetic::exact];
    std::string compared;
    if (!report.conditions.weak)
      compared = fmt::format("equation (9): {:.6g}", report.bounds.paper_norm);
    if (report.bounds.norm_lower > 0)
      compared += fmt::format("; no witness below {:.6g}", report.bounds.norm_lower);
    text += fmt::format(
        "witness       {} columns by {}, {}, verified in {}\n"
        "norm product  {:.6g}{}\n"
        "max |L|       {:.6g}\n"
        "margin        {}{}\n",
        result.dim, lab::name_of(result.method), name_of(result.witness->q.info().dtype),
        fmt::join(holds_in(report.result.verification), ", "), verification.norm_product,
        compared.empty() ? "" : fmt::format("   ({})", compared), verification.max_logit,
        margin_text(exact), exact.worst_row < 0 ? "" : fmt::format(", row {}", exact.worst_row));
    if (result.method == lab::Method::jl) text += fmt::format("redraws       {}\n", result.redraws);
  } else {
    text += "witness       none was found\n";
  }
  if (!report.conditions.weak)
    text += fmt::format("bound (6)     {}\nsharper       {}\n", bound_text(report.bounds.paper),
                        bound_text(report.bounds.sharper));
  text += fmt::format("seconds       {:.2f}\n\n{}", result.seconds, attempts_text(result));
  if (result.witness && report.options.out)
    text += fmt::format("\nwrote {}\n", printable(*report.options.out));
  return text;
}

int run_realise(const Options& options, const Globals& globals) {
  const lab::Conditions conditions = options.conditions.or_else({});
  const lab::Pattern pattern = options.pattern.read();
  const lab::RealiseOptions wanted{.method = lab::method_named(options.method),
                                   .conditions = conditions,
                                   .dim = options.dim,
                                   .max_norm = options.max_norm,
                                   .hidden = options.hidden,
                                   .redraws = options.redraws,
                                   .steps = options.steps,
                                   .seed = options.seed,
                                   .threads = globals.threads};
  const Bounds bounds = bounds_of(pattern, conditions);
  watch_interrupts();
  std::optional<lab::Realisation> result;
  {
    Shown shown("attempts");
    result = lab::realise(pattern, wanted, shown.callback());
  }
  stop_if_interrupted();
  if (result->witness && options.out) lab::write_witness(*options.out, *result->witness);
  const Report report{options, pattern, conditions, *result, bounds, threads_of(globals)};
  fmt::print("{}", globals.json ? report_json(report) : report_text(report));
  return result->witness ? 0 : 1;
}

}  // namespace

Run declare_realise(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis realise data/pattern-32.mtx --dim 4 --steps 200");
  auto options = std::make_shared<Options>();
  add_pattern(app, files, options->pattern);
  files.writes(app.add_option("--out", options->out, "write the witness here (safetensors)"));
  one_of(app.add_option("--method", options->method, "how to make it (default: auto)"),
         {"auto", "jl", "moment", "descent"});
  app.add_option("--dim", options->dim, "columns of q and k (default: as few as can be)")
      ->type_name("M");
  add_conditions(app, options->conditions);
  app.add_option("--max-norm", options->max_norm, "largest norm product to accept")->type_name("R");
  app.add_option("--hidden", options->hidden, "with jl: write x, w_q, w_k of hidden size H as well")
      ->type_name("H");
  at_least_one(app.add_option("--redraws", options->redraws,
                              "draws of jl at most (default: as many as rows)")
                   ->type_name("N"));
  at_least_one(
      app.add_option("--steps", options->steps,
                     "steps of a descent (default: 2000, or 1000 above four million pairs)")
          ->type_name("N"));
  a_seed(app.add_option("--seed", options->seed, "seed of everything random (default: 0)")
             ->type_name("S"));
  return [options, &globals] { return run_realise(*options, globals); };
}

}  // namespace tamis::cli
