// tamis sweep: runs the papers' experiments as grids of points that are kept in a store and
// resumed from it. Takes the time of the points, which --dry-run estimates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/text.h>

#include "command.h"
#include "numbers.h"
#include "sweep/launch.h"
#include "sweep/report.h"
#include "terminal/complain.h"
#include "terminal/interrupt.h"
#include "terminal/shown.h"

namespace tamis::cli {
namespace {

constexpr const char* introduction =
    "Run the papers' experiments, resumable\n\n"
    "A sweep is a grid of points. Each is a function of its parameters and the seed alone, "
    "computed on one thread, several at once, longest first; what is done is kept in the store, an "
    "SQLite file, and not computed again. However a run ends, kill -9 included, the same command "
    "goes on from there and ends with the same table, bit for bit. A point that fails is recorded "
    "with its sentence, the others go on, and the next run tries it again (exit status 3). One "
    "process writes a store; tamis sweep status --store FILE says at any time how far its sweeps "
    "are, and NAME --store FILE --report what the points say that are done.\n\n"
    "Under mpirun all ranks compute and rank 0 writes; --threads is for each rank, by default "
    "1.\n\n"
    "--json prints {sweep, store, points, done, failed, computed, seconds, threads, ranks, "
    "made_by, table, fits, sentences, results: [{parameters, seconds, result or error}]}, with "
    "--report without computed, seconds, threads and ranks; with --dry-run {sweep, points, done, "
    "failed, missing, calibrated, factor, core_seconds, seconds, list: [{parameters, state, "
    "guess}]}; of status {store, points, done, failed, sweeps: [{sweep, points, done, failed, "
    "missing, other_grids, core_seconds, core_seconds_left}]}. docs/experiments.md says what each "
    "sweep asks, docs/sweeps.md what the store holds.\n\n"
    "The sweeps, with their axes and the values that hold unless --set gives others:\n\n";

std::string axis_text(const lab::SweepAxis& axis) {
  return fmt::format("{}, {}{}: {}", axis.name, axis.what, axis.single ? " (one value)" : "",
                     fmt::join(axis.values, ","));
}

/// Returns the description of the command, made from the table of sweeps so that help is never out
/// of date.
std::string description() {
  std::string text = introduction;
  for (const lab::SweepKind& kind : lab::sweep_kinds()) {
    std::vector<std::string> axes;
    for (const lab::SweepAxis& axis : kind.axes) axes.push_back(axis_text(axis));
    text += fmt::format("{}: {}{}. {}.\n\n", kind.name, kind.what,
                        kind.takes_trace ? "; takes a trace" : "", fmt::join(axes, "; "));
  }
  return text;
}

struct Options {
  std::string name;
  std::optional<std::string> store;
  std::vector<std::string> set;
  std::optional<std::string> trace;
  std::uint64_t seed = 0;
  bool dry_run = false;
  bool report = false;
  std::optional<std::string> vega;
};

lab::SweepRequest request_of(const Options& options) {
  lab::SweepRequest request{options.name, {}, options.trace, options.seed};
  for (const std::string& each : options.set) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos)
      throw Error(Code::usage,
                  fmt::format("--set: '{}' has no '='; give AXIS=VALUE or AXIS=VALUE,VALUE,...",
                              printable(each)));
    request.axes.push_back({each.substr(0, equals),
                            list_of<double>("--set", std::string_view(each).substr(equals + 1))});
  }
  return request;
}

bool takes_trace(const std::string& name) {
  for (const lab::SweepKind& kind : lab::sweep_kinds())
    if (kind.name == name) return kind.takes_trace;
  return false;
}

const std::string& store_of(const Options& options) {
  if (!options.store)
    throw Error(Code::usage, "--store is missing; give the file that keeps the results");
  return *options.store;
}

int run_status(const Options& options, const Globals& globals) {
  if (!options.set.empty() || options.trace || options.dry_run || options.report || options.vega)
    throw Error(Code::usage, "status takes --store and --json alone; leave the other options out");
  const auto sweeps = lab::SweepStore(store_of(options), lab::StoreUse::read).status();
  fmt::print("{}", globals.json ? status_json(*options.store, sweeps)
                                : status_table(*options.store, sweeps));
  return 0;
}

int run_plan(const Options& options, const Place& place, bool json) {
  if (options.vega)
    throw Error(Code::usage,
                "--vega draws results, of which --dry-run makes none; leave one of them out");
  if (options.report)
    throw Error(Code::usage,
                "--dry-run says what is to be computed, --report what was; leave one of them out");
  const lab::Sweep sweep(request_of(options));
  SweepPlan plan{sweep, {}, place, takes_trace(options.name) && !options.trace};
  plan.points.resize(sweep.points().size());
  if (options.store && std::filesystem::exists(*options.store))
    plan.points =
        lab::SweepStore(*options.store, lab::StoreUse::read).look_up(sweep.name(), sweep.points());
  fmt::print("{}", json ? plan_json(plan) : plan_table(plan));
  return 0;
}

/// Computes the missing points unless only a report is asked for, then draws and prints the
/// results that are known.
int run_points(const Options& options, const Place& place, lab::Ranks* ranks, bool json) {
  const lab::Sweep sweep(request_of(options));
  SweepDone done{sweep, store_of(options), {}, {}, {}, place};
  done.without_trace = takes_trace(options.name) && !options.trace;
  {
    lab::SweepStore store(done.store, options.report ? lab::StoreUse::read : lab::StoreUse::write);
    if (!options.report) {
      Shown shown(sweep.name());
      done.run = lab::run_sweep(sweep, store, {.threads = place.threads, .ranks = ranks},
                                shown.callback());
    }
    done.points = store.look_up(sweep.name(), sweep.points());
  }
  std::vector<std::optional<std::string>> results;
  for (const auto& point : done.points) results.push_back(point ? point->result : std::nullopt);
  done.report = sweep.report(results);
  if (options.vega) write_text(*options.vega, done.report.vega);
  fmt::print("{}", json ? sweep_json(done) : sweep_table(done));
  // Failed points are not thrown as an error: the printed results are the answer, and they say how
  // each point failed.
  const std::string failed = failures_text(done);
  return failed.empty() ? 0 : complain(3, failed);
}

/// Starts MPI on a rank other than 0. MPI waits until all ranks have started it, so a rank that
/// cannot start it must fail: then mpirun ends the ranks that wait.
std::unique_ptr<lab::Ranks> start_follower(int rank) try {
  return start_ranks();
} catch (const Error& error) {
  throw Error(error.code(), fmt::format("rank {}: {}", rank, error.what()));
}

/// The work of a rank other than 0. Once it is connected, it prints nothing and returns 0 whatever
/// happens. Rank 0 receives its errors or meets them itself; if this process failed, mpirun would
/// kill rank 0 before it could report them.
int follow(const Options& options, const Place& place, int rank) {
  const std::unique_ptr<lab::Ranks> ranks = start_follower(rank);
  lab::serve_sweep(
      *ranks, place.threads, [&] { return lab::Sweep(request_of(options)); },
      [] { return !interrupted(); });
  return 0;
}

int run_command(const Options& options, const Globals& globals) {
  const Launch launched = launch();
  const Place place{globals.threads > 0 || !launched.by_mpirun ? threads_of(globals) : 1,
                    launched.size};
  const bool alone = options.name == "status" || options.dry_run || options.report;
  if (!alone) watch_interrupts();
  if (launched.rank > 0) return alone ? 0 : follow(options, place, launched.rank);
  if (options.name == "status") return run_status(options, globals);
  if (options.dry_run) return run_plan(options, place, globals.json);
  try {
    if (launched.size == 1 || options.report)
      return run_points(options, place, nullptr, globals.json);
    std::unique_ptr<lab::Ranks> ranks = start_ranks();
    lab::Ranks* all = ranks.get();
    return lead_ranks(std::move(ranks), globals.json,
                      [&] { return run_points(options, place, all, globals.json); });
  } catch (const Error& error) {
    if (error.code() == Code::cancelled)
      complain(3,
               fmt::format(
                   "interrupted; what is done is kept in {}, and the same command{} goes on from "
                   "there: {}",
                   printable(store_of(options)), launched.by_mpirun ? " under mpirun" : "",
                   globals.typed));
    throw;
  }
}

}  // namespace

Run declare_sweep(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description());
  app.footer("tamis sweep fig3 --set n=16,32 --set matrices=1 --dry-run");
  auto options = std::make_shared<Options>();
  std::vector<std::string> names;
  for (const lab::SweepKind& kind : lab::sweep_kinds()) names.push_back(kind.name);
  names.emplace_back("status");
  one_of(app.add_option("NAME", options->name, "a sweep, or status")->required(), names);
  files.keeps(app.add_option("--store", options->store,
                             "the SQLite file that keeps results; made if there is none"));
  app.add_option("--set", options->set, "values of an axis instead of its own")
      ->type_name("AXIS=V,V...")
      ->allow_extra_args(false);
  files.reads(app.add_option("--trace", options->trace,
                             "points over this trace too (format in docs/trace.md)"),
              "TRACE");
  a_seed(app.add_option("--seed", options->seed, "seed of everything random (default: 0)")
             ->type_name("N"));
  app.add_flag("--dry-run", options->dry_run,
               "list the points and a guess at the time; write nothing");
  app.add_flag(
      "--report", options->report,
      "tell what the points say that are done; compute nothing and leave the store as it is");
  files.writes(app.add_option("--vega", options->vega, "write a Vega-Lite chart of the results"));
  return [options, &globals] { return run_command(*options, globals); };
}

}  // namespace tamis::cli
