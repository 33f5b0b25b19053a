// tamis dmin: finds the least dimension at which the paper's random construction succeeds, by
// search or from the probability that a draw succeeds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/lab/bounds.h>
#include <tamis/lab/dmin.h>

#include "command.h"
#include "dmin/report.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"
#include "terminal/shown.h"

namespace tamis::cli {
namespace {

constexpr const char* description =
    "The least dimension at which the paper's construction succeeds\n\n"
    "Draws a random pattern, the union of K random permutations with values 1 or G (with --causal: "
    "K random places at or before the diagonal in every row), and asks how many columns queries "
    "and keys made by random projection need to produce it: conditions (23) and (24), with eps1 "
    "and eps2, within Q*n redraws. d is the paper's dimension and even; queries and keys have d/2 "
    "columns, and d_min counts columns.\n\n"
    "--method search goes up a grid of d, as the paper does, and ends at the first accepted draw. "
    "--method estimate counts accepted draws at every d instead, which gives the law of the least "
    "d for every Q at once, with exact intervals. The same seed gives the same result for any "
    "number of threads.\n\n"
    "--json prints {d_min, d, draws, p, method, ..., bound, sharper_bound} with searches: [{d_min, "
    "d, draws, draws_at_d, p, p_low, p_high}], one for each matrix, or acceptance: [{d, draws, "
    "accepted, p, low, high}] and laws: [{Q, median, median_low, median_high, p05, p95, "
    "window_error, probability, at_most, low, high}], whose lists follow acceptance. d is the "
    "median of several searches or of the law for Q, d_min is half of it, and p is the probability "
    "there; what does not exist up to d = 2n is null. The dimensions in laws, acceptance, bound "
    "and sharper_bound are d, not columns.";

struct Options {
  lab::DminProblem problem;
  double Q = 1;
  std::string method = "search";
  std::int64_t matrices = 1;
  std::int64_t step = 8;
  std::int64_t draws = 0;
  std::int64_t from = 0;
};

/// Returns Q = 0.1 … 5 and the Q asked for, without those for which Q·n rounds to no draw.
std::vector<double> all_Q(double Q, std::int64_t n) {
  std::vector<double> all{0.1, 0.2, 0.5, 1, 2, 5};
  std::erase_if(all, [&](double x) { return std::round(x * static_cast<double>(n)) < 1; });
  if (std::ranges::find(all, Q) == all.end()) all.push_back(Q);
  std::ranges::sort(all);
  return all;
}

int run_dmin(const Options& options, const Globals& globals) {
  const lab::DminProblem& problem = options.problem;
  if (options.matrices < 1)
    throw Error(Code::usage,
                fmt::format("--matrices is {}; it must be at least 1", options.matrices));
  watch_interrupts();
  DminReport report;
  report.problem = problem;
  report.Q = options.Q;
  report.step = options.step;
  report.from = options.from;
  report.threads =
      globals.threads > 0 ? std::min(globals.threads, hardware_threads()) : hardware_threads();
  const auto begin = std::chrono::steady_clock::now();
  if (options.method == "search") {
    for (std::int64_t i = 0; i < options.matrices; ++i) {
      Shown shown("draws, at most");
      report.searches.push_back(lab::search_dmin(
          problem.pattern(i), problem.conditions(), problem.draw_seed(i),
          {options.Q, options.step, options.from, globals.threads}, shown.callback()));
    }
  } else {
    lab::EstimateOptions wanted;
    wanted.matrices = options.matrices;
    wanted.draws = options.draws;
    wanted.step = options.step;
    wanted.from = options.from;
    wanted.Q = all_Q(options.Q, problem.n);
    wanted.delta = report.delta;
    wanted.threads = globals.threads;
    Shown shown("draws, at most");
    report.estimate = lab::estimate_dmin(problem, wanted, shown.callback());
  }
  report.seconds = seconds_since(begin);
  stop_if_interrupted();
  fmt::print("{}", globals.json ? dmin_json(report) : dmin_table(report));
  return 0;
}

}  // namespace

Run declare_dmin(CLI::App& app, Files& /*files*/, const Globals& globals) {
  app.description(description);
  app.footer("tamis dmin --n 128 --k 1 --gamma 1 --eps1 0.5 --eps2 1");
  auto options = std::make_shared<Options>();
  app.add_option("--n", options->problem.n, "rows of the pattern")->type_name("N")->required();
  app.add_option("--k", options->problem.k, "nonzeros in a row, at most (default: 1)")
      ->type_name("K");
  app.add_option("--gamma", options->problem.gamma, "the larger of the two values (default: 1)")
      ->type_name("G");
  app.add_option("--eps1", options->problem.eps1, "zeros stay below this share (default: 0.5)")
      ->type_name("E");
  app.add_option("--eps2", options->problem.eps2, "log ratios are right up to this (default: 1)")
      ->type_name("E");
  app.add_option("--Q", options->Q, "redraws for every d, as a multiple of n (default: 1)")
      ->type_name("Q");
  one_of(app.add_option("--method", options->method, "how to find d_min (default: search)"),
         {"search", "estimate"});
  app.add_option("--matrices", options->matrices, "random patterns (default: 1)")->type_name("M");
  app.add_option("--step", options->step, "spacing of the grid of d (default: 8)")->type_name("S");
  app.add_option("--draws", options->draws,
                 "draws for every d and pattern of an estimate (default: 20*N)")
      ->type_name("D");
  app.add_option("--from", options->from, "first d of the grid (default: the step)")
      ->type_name("D");
  a_seed(app.add_option("--seed", options->problem.seed, "seed of patterns and draws (default: 0)")
             ->type_name("N"));
  app.add_flag("--causal", options->problem.causal, "causal attention and patterns");
  return [options, &globals] { return run_dmin(*options, globals); };
}

}  // namespace tamis::cli
