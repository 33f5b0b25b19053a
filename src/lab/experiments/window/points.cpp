// The `window` sweep tests Theorems 4.3 and 6.1 of the second paper: with which rules for how many
// keys to keep does the loss of a row fall as its context grows? A point is one synthetic head at
// one n, or one head of a trace.
#include "lab/experiments/window/window.h"

#include <cmath>

#include "lab/experiments/axes.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/trace_points.h"
#include "lab/stats/quantiles.h"

namespace tamis::lab::experiments {
namespace {

constexpr std::int64_t trace_bins = 6;

Json quantiles_of(const std::vector<std::vector<Loss>>& losses, const stats::BinRows& rows,
                  std::size_t rule, double Loss::*measure) {
  std::vector<double> values;
  for (const std::size_t row : rows) values.push_back(losses[row][rule].*measure);
  const Quantiles q = stats::quantiles(std::move(values));
  return {q.p10, q.median, q.p90};
}

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<GridPoint> all;
  const auto add = [&](Json parameters, double seconds) {
    parameters["keys"] = request.whole("keys");
    parameters["middle"] = request.whole("middle");
    parameters["sinks"] = request.whole("sinks");
    parameters["C"] = request.values("C");
    all.push_back({std::move(parameters), seconds});
  };
  const std::int64_t queries = request.whole("queries");
  for (const Regime& regime : regimes_of(request))
    for (const std::int64_t n : request.wholes("n"))
      for (std::int64_t replicate = 0; replicate < request.whole("replicates"); ++replicate) {
        Json parameters{{"part", "synthetic"}, {"n", n}};
        regime.write(parameters);
        parameters.update({{"queries", queries}, {"replicate", replicate}, {"seed", request.seed}});
        const auto keys = static_cast<double>(n);
        add(std::move(parameters),
            seconds_for(static_cast<double>(queries) * keys, 97) + 2e-6 * keys);
      }
  for (Json& parameters : head_points(request, 2))
    add(std::move(parameters), seconds_for(keys_seen(request.trace->trace), 192));
  return all;
}

HeadRows rows_at(const Json& p, const Scene& scene) {
  if (p.at("part") == "trace") return trace_rows(p, *scene.trace);
  return synthetic_rows(
      Regime::read(p),
      std::vector<std::int64_t>(p.at("queries").get<std::size_t>(), p.at("n").get<std::int64_t>()),
      seed_of(p));
}

Json compute(const Json& p, const Scene& scene) {
  const std::vector<Rule> rules = window_rules(p);
  const HeadRows rows = rows_at(p, scene);
  const auto losses = losses_of(rows, rules, p.at("sinks"), scene);
  const std::vector<double> n = rows.lengths();
  Json bins = Json::array();
  for (const stats::BinRows& bin : stats::length_bins(n, trace_bins)) {
    std::vector<double> lengths;
    for (const std::size_t row : bin) lengths.push_back(n[row]);
    const double middle = stats::median(std::move(lengths));
    Json found = Json::array();
    for (std::size_t r = 0; r < rules.size(); ++r)
      found.push_back({{"keys", rules[r].keys(std::llround(middle))},
                       {"tau", quantiles_of(losses, bin, r, &Loss::tau)},
                       {"error", quantiles_of(losses, bin, r, &Loss::error)},
                       {"largest", quantiles_of(losses, bin, r, &Loss::largest)}});
    bins.push_back({{"n", middle}, {"rules", std::move(found)}});
  }
  return {{"bins", std::move(bins)}};
}

}  // namespace

std::vector<Rule> window_rules(const Json& p) {
  std::vector<Rule> rules{{Which::heaviest}, {Which::heaviest, 1, 0, true}};
  const auto exponents = p.at("C").get<std::vector<double>>();
  for (const double C : exponents) rules.push_back({Which::heaviest, 1, C});
  rules.push_back({Which::latest});
  for (const double C : exponents) rules.push_back({Which::latest, 1, C});
  for (Rule& rule : rules) rule.alpha = alpha_for(rule, p.at("keys"), p.at("middle"));
  return rules;
}

const Experiment& window_experiment() {
  static const Experiment experiment{
      {.name = "window",
       .what =
           "error of fixed numbers of keys, of windows and of alpha*n^C over n (Theorems 4.3, 6.1)",
       .axes = {{.name = "n",
                 .what = "keys of synthetic rows",
                 .values = {256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536},
                 .least = 2,
                 .most = 1 << 20,
                 .whole = true},
                axis_R(),
                axis_c(),
                {.name = "C",
                 .what = "exponents of the rules alpha*n^C",
                 .values = {0.25, 0.5, 0.75},
                 .least = 1e-6,
                 .most = 1},
                single_axis("keys", "keys that every rule reads at the length `middle`", 64, 1,
                            1 << 20, true),
                single_axis("middle", "the length at which all rules cost the same", 2048, 2,
                            1 << 20, true),
                single_axis("sinks", "first keys that windows keep", 4, 0, 1 << 20, true),
                single_axis("queries", "rows of a synthetic head", 64, 1, 1 << 16, true),
                single_axis("replicates", "synthetic heads for every n", 8, 1, 10000, true)},
       .takes_trace = true},
      points,
      compute,
      window_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
