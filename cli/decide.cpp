// tamis decide: can self-attention weakly produce a pattern in d dimensions? Yes with a witness,
// no with a refutation, or open with bounds. Dimension 1 takes time linear in the size of the
// pattern, higher dimensions up to the time limit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/error.h>
#include <tamis/lab/decide.h>
#include <tamis/text.h>

#include "command.h"
#include "conditions.h"
#include "decide/evidence.h"
#include "pattern_file.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"
#include "terminal/json.h"
#include "terminal/shown.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* description =
    "Decide whether a pattern can be produced in few dimensions\n\n"
    "Attention weakly approximates the pattern A if in every row the logits of its nonzeros are "
    "above all others. The question is whether queries and keys of --dim columns do that, or, "
    "without --dim, the least number d_min of columns that do: for a relevance file (qrels), the "
    "embedding dimension that it needs. The verdict is\n\n"
    "  yes   with a witness, verified in exact arithmetic as tamis verify does\n"
    "  no    with a refutation, checked independently: a few rows and columns that\n"
    "        forbid it, or a proof; or, marked as such, the word of a solver\n"
    "  open  with bounds on d_min, what was tried, and for how long\n\n"
    "Dimension 1 is always decided, in time linear in the file. Above, the question is NP-hard, "
    "and what can be tried is tried until --time-limit, which counts from the start, reading "
    "included; Ctrl-C ends it early and gives the bounds so far. With --hidden H the logits are "
    "x*w_q*w_k^T*x^T with x of H columns (the paper's d_hid), square patterns only; without it, or "
    "if H is at least twice the dimension, queries and keys are free.\n\n"
    "--out writes the witness of the upper bound (docs/witness.md), --refutation the refutation "
    "behind the lower bound (docs/refutation.md); tamis verify checks both. --problem writes the "
    "SMT-LIB problem of a solver's word. --json prints {verdict, dim, hidden, lower, upper, "
    "evidence, trials, ...}; dim is the one asked for, else d_min if it is known; upper is null if "
    "no witness was found. Exit status 0 for each verdict.";

struct Options {
  PatternFile pattern;
  std::optional<std::int64_t> dim;
  std::optional<std::int64_t> hidden;
  double time_limit = 60;
  bool no_solvers = false;
  std::uint64_t seed = 0;
  std::optional<std::string> out;
  std::optional<std::string> refutation;
  std::optional<std::string> problem;
};

struct Report {
  const Options& options;
  const lab::Pattern& pattern;
  const lab::Decision& decision;
  int threads;
};

/// Which files were written. A bound may lack the evidence that an option asks to write.
struct Written {
  bool witness, refutation, problem;
};

const lab::SolverSaid* solver_of(const lab::Decision& decision) {
  return decision.refutation ? std::get_if<lab::SolverSaid>(&decision.refutation->grounds)
                             : nullptr;
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json evidence_json(const Report& report) {
  const lab::Decision& decision = report.decision;
  ordered_json lower;
  if (decision.refutation) {
    lower = refutation_json(*decision.refutation);
    lower["proved"] = decision.refutation->proved();
    lower["words"] = refutation_words(report.pattern, *decision.refutation);
  }
  ordered_json upper;
  if (decision.upper)
    upper = {{"method", decision.method},
             {"columns", *decision.upper},
             {"arithmetic", holds_in(decision.verification)},
             {"margin", number_or_null(decision.verification[lab::Arithmetic::exact].margin)}};
  return {{"lower", lower}, {"upper", upper}};
}

std::string report_json(const Report& report, const Written& written) {
  const lab::Decision& decision = report.decision;
  ordered_json trials = ordered_json::array();
  for (const lab::Trial& trial : decision.trials)
    trials.push_back({{"what", trial.what},
                      {"times", trial.times},
                      {"dim", trial.dim > 0 ? ordered_json(trial.dim) : ordered_json()},
                      {"outcome", trial.outcome},
                      {"seconds", trial.seconds}});
  const bool known = decision.verdict == lab::Verdict::yes;
  return json_text(ordered_json{
      {"verdict", lab::name_of(decision.verdict)},
      {"dim", report.options.dim ? ordered_json(*report.options.dim)
              : known            ? or_null(decision.upper)
                                 : ordered_json()},
      {"hidden", or_null(report.options.hidden)},
      {"lower", decision.lower},
      {"upper", or_null(decision.upper)},
      {"evidence", evidence_json(report)},
      {"pattern", report.options.pattern.name},
      {"rows", report.pattern.rows},
      {"columns", report.pattern.cols},
      {"nonzeros", report.pattern.nonzeros()},
      {"dropped", report.pattern.dropped},
      {"out", written.witness ? or_null(report.options.out) : ordered_json()},
      {"refutation", written.refutation ? or_null(report.options.refutation) : ordered_json()},
      {"problem", written.problem ? or_null(report.options.problem) : ordered_json()},
      {"trials", trials},
      {"time_limit", report.options.time_limit},
      {"interrupted", decision.interrupted},
      {"seed", report.options.seed},
      {"threads", report.threads},
      {"seconds", decision.seconds}});
}

std::string columns_text(std::int64_t columns) {
  return fmt::format("{} column{}", columns, columns == 1 ? "" : "s");
}

/// Returns " (by a solver)" if the lower bound, on which the verdict rests, is only a solver's
/// word, and an empty string otherwise.
std::string by_solver(const lab::Decision& decision) {
  return decision.refutation && !decision.refutation->proved() ? " (by a solver)" : "";
}

std::string verdict_text(const Report& report) {
  const lab::Decision& decision = report.decision;
  const std::string bounds = decision.upper
                                 ? fmt::format("{} ≤ d_min ≤ {}", decision.lower, *decision.upper)
                                 : fmt::format("d_min ≥ {}, no witness was found", decision.lower);
  if (decision.verdict == lab::Verdict::open)
    return "open: " + bounds + (decision.interrupted ? " (interrupted)" : "");
  if (!report.options.dim) {
    if (decision.verdict == lab::Verdict::no)
      return fmt::format("no: in no dimension up to the hidden size {}{}", *report.options.hidden,
                         by_solver(decision));
    return fmt::format("d_min = {}{}", *decision.upper, by_solver(decision));
  }
  if (decision.verdict == lab::Verdict::no)
    return fmt::format("no: not in {}{}; {}", columns_text(*report.options.dim),
                       by_solver(decision), bounds);
  return *decision.upper < *report.options.dim
             ? fmt::format("yes: in {}, so in {} as well", columns_text(*decision.upper),
                           *report.options.dim)
             : fmt::format("yes: in {}", columns_text(*report.options.dim));
}

std::string report_text(const Report& report, const Written& written) {
  const lab::Decision& decision = report.decision;
  const Words words = words_of(report.pattern);
  std::string text =
      fmt::format("pattern       {}: {} {} × {} {}, {} nonzeros\n",
                  printable(report.options.pattern.name), report.pattern.rows, words.rows,
                  report.pattern.cols, words.columns, report.pattern.nonzeros());
  text += dropped_text(report.pattern, 14);
  text += fmt::format("hidden size   {}\n",
                      report.options.hidden ? std::to_string(*report.options.hidden)
                                            : std::string("free: queries and keys share nothing"));
  text += fmt::format("verdict       {}\n", verdict_text(report));
  if (decision.refutation)
    text += fmt::format("lower bound   {}, {}: {}\n", decision.lower,
                        decision.refutation->proved() ? "proved" : "by a solver",
                        refutation_words(report.pattern, *decision.refutation));
  else
    text += "lower bound   1\n";
  if (decision.upper)
    text +=
        fmt::format("upper bound   {}: witness by {}, verified in {}, margin {}\n", *decision.upper,
                    decision.method, fmt::join(holds_in(decision.verification), ", "),
                    margin_text(decision.verification[lab::Arithmetic::exact]));
  text +=
      fmt::format("seconds       {:.2f} of {:g}\n\n", decision.seconds, report.options.time_limit);
  std::vector<std::vector<std::string>> rows{{"tried", "columns", "seconds", "outcome"}};
  for (const lab::Trial& trial : decision.trials)
    rows.push_back({trial.times > 1 ? fmt::format("{} × {}", trial.times, trial.what) : trial.what,
                    trial.dim > 0 ? std::to_string(trial.dim) : "-",
                    fmt::format("{:.2f}", trial.seconds), trial.outcome});
  text += table_text(rows, LastColumn::words);
  std::string wrote;
  if (written.witness) wrote += fmt::format("wrote {}\n", printable(*report.options.out));
  if (written.refutation) wrote += fmt::format("wrote {}\n", printable(*report.options.refutation));
  if (written.problem) wrote += fmt::format("wrote {}\n", printable(*report.options.problem));
  return wrote.empty() ? text : text + "\n" + wrote;
}

/// The least time in seconds that is left for deciding after reading: dimension 1 is decided in
/// any case.
constexpr double least_time = 1e-3;

/// Reads the pattern. Throws Error(io) if that takes longer than the time limit, which counts from
/// the start of the command.
template <class Elapsed>
lab::Pattern read_in_time(const Options& options, const Elapsed& elapsed) {
  const bool limited = options.time_limit > 0;  // `decide` rejects the other values
  try {
    return options.pattern.read([&](double, double) {
      return !interrupted() && !(limited && elapsed() > options.time_limit);
    });
  } catch (const Error& error) {
    if (error.code() != Code::cancelled || interrupted()) throw;
    throw Error(Code::io,
                fmt::format("{}: cannot be read within the time limit of {:g} seconds; give more",
                            options.pattern.name, options.time_limit));
  }
}

int run_decide(const Options& options, const Globals& globals) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [begin] { return seconds_since(begin); };
  watch_interrupts();
  const lab::Pattern pattern = read_in_time(options, elapsed);
  const double reading = elapsed();
  const lab::DecideOptions wanted{
      .dim = options.dim,
      .hidden = options.hidden,
      .time_limit = options.time_limit > 0 ? std::max(options.time_limit - reading, least_time)
                                           : options.time_limit,
      .solvers = !options.no_solvers,
      .witness = options.out.has_value(),
      .seed = options.seed,
      .threads = globals.threads};
  std::optional<lab::Decision> decision;
  {
    Shown shown("seconds");
    decision = lab::decide(pattern, wanted, shown.callback());
  }
  decision->seconds += reading;
  const lab::SolverSaid* said = solver_of(*decision);
  const Written written{options.out && decision->witness,
                        options.refutation && decision->refutation,
                        options.problem && said != nullptr};
  if (written.witness) lab::write_witness(*options.out, *decision->witness);
  if (written.refutation) lab::write_refutation(*options.refutation, *decision->refutation);
  if (written.problem) write_text(*options.problem, said->problem);
  const Report report{options, pattern, *decision, threads_of(globals)};
  fmt::print("{}", globals.json ? report_json(report, written) : report_text(report, written));
  if (decision->interrupted) {
    std::fflush(stdout);
    die_of_interrupt();
  }
  return 0;
}

}  // namespace

Run declare_decide(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis decide data/pattern-32.mtx --time-limit 5");
  auto options = std::make_shared<Options>();
  add_pattern(app, files, options->pattern);
  at_least_one(
      app.add_option("--dim", options->dim, "columns of q and k (default: find the fewest)")
          ->type_name("D"));
  at_least_one(app.add_option("--hidden", options->hidden,
                              "columns of x, d_hid (default: queries and keys are free)")
                   ->type_name("H"));
  app.add_option("--time-limit", options->time_limit, "seconds, beyond dimension 1 (default: 60)")
      ->type_name("S");
  files.writes(app.add_option("--out", options->out, "write the witness here (safetensors)"));
  files.writes(
      app.add_option("--refutation", options->refutation, "write the refutation here (JSON)"));
  files.writes(app.add_option("--problem", options->problem,
                              "write the problem of a solver's word here (SMT-LIB)"));
  app.add_flag("--no-solvers", options->no_solvers, "do not run z3, cvc5 and cadical");
  a_seed(app.add_option("--seed", options->seed, "seed of everything random (default: 0)")
             ->type_name("S"));
  return [options, &globals] { return run_decide(*options, globals); };
}

}  // namespace tamis::cli
