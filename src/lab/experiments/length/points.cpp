// The `length` sweep: contexts of many lengths under rules that cost the same in total. Does
// alpha·n^C lose less than a fixed number of keys, as the second paper claims? A point is one
// synthetic head with rows of log-uniform length, or one head of a trace with its own rows. Rows
// are split into two halves, so that C can be chosen on one and judged on the other; alpha follows
// from the lengths and the cost alone.
#include "lab/experiments/length/length.h"

#include <algorithm>
#include <cmath>

#include "lab/experiments/axes.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/trace_points.h"
#include "lab/stats/quantiles.h"

namespace tamis::lab::experiments {
namespace {

/// All rows, the first half and the second half. Neighbours stay together in blocks, since
/// neighbouring rows of a text are similar.
using Sets = std::array<std::vector<std::size_t>, 3>;
Sets sets_of(std::size_t rows) {
  const std::size_t block = std::clamp<std::size_t>(rows / 4, 1, 8);
  Sets sets;
  for (std::size_t row = 0; row < rows; ++row) {
    sets[0].push_back(row);
    sets[1 + row / block % 2].push_back(row);
  }
  return sets;
}

std::vector<GridPoint> points(const GridRequest& request) {
  const auto [low, high] = length_range(request);
  std::vector<GridPoint> all;
  const auto add = [&](Json parameters, double seconds) {
    parameters["keys"] = request.whole("keys");
    parameters["sinks"] = request.whole("sinks");
    parameters["C"] = request.values("C");
    all.push_back({std::move(parameters), seconds});
  };
  const std::int64_t rows = request.whole("rows");
  const auto longest = static_cast<double>(high);
  const double mean =
      (longest - static_cast<double>(low)) / std::log(longest / static_cast<double>(low));
  for (const Regime& regime : regimes_of(request))
    for (std::int64_t replicate = 0; replicate < request.whole("replicates"); ++replicate) {
      Json parameters{{"part", "synthetic"}, {"n_low", low}, {"n_high", high}, {"rows", rows}};
      regime.write(parameters);
      parameters.update({{"replicate", replicate}, {"seed", request.seed}});
      add(std::move(parameters),
          seconds_for(static_cast<double>(rows) * mean, 97) + 2e-6 * longest);
    }
  for (Json& parameters : head_points(request, 4))
    add(std::move(parameters), seconds_for(keys_seen(request.trace->trace), 192));
  return all;
}

HeadRows rows_at(const Json& p, const Scene& scene) {
  if (p.at("part") == "trace") return trace_rows(p, *scene.trace);
  const std::uint64_t seed = seed_of(p);
  return synthetic_rows(Regime::read(p),
                        log_uniform(p.at("rows"), p.at("n_low"), p.at("n_high"), seed), seed);
}

Json compute(const Json& p, const Scene& scene) {
  const HeadRows rows = rows_at(p, scene);
  const Sets sets = sets_of(rows.seen.size());
  const std::vector<Rule> shapes = length_rules(p);
  const std::int64_t keys = p.at("keys");
  // The same rules for every set of rows, each with the alpha that the set's cost allows.
  std::vector<Rule> rules;
  std::vector<double> read;
  for (const auto& set : sets) {
    std::vector<std::int64_t> lengths;
    for (const std::size_t row : set) lengths.push_back(rows.seen[row]);
    const auto count = static_cast<std::int64_t>(set.size());
    for (Rule rule : shapes) {
      rule.alpha = alpha_within(rule, lengths, count * keys);
      read.push_back(static_cast<double>(cost_of(rule, lengths)) / static_cast<double>(count));
      rules.push_back(rule);
    }
  }
  const auto losses = losses_of(rows, rules, p.at("sinks"), scene);
  Json found = Json::array();
  for (std::size_t r = 0; r < shapes.size(); ++r) {
    Json entry{{"alpha", rules[r].alpha}, {"keys", read[r]}};
    for (const char* name : length_measures) entry[name] = Json::array();
    for (std::size_t s = 0; s < sets.size(); ++s) {
      std::vector<double> tau;
      std::vector<double> error;
      for (const std::size_t row : sets[s]) {
        tau.push_back(losses[row][s * shapes.size() + r].tau);
        error.push_back(losses[row][s * shapes.size() + r].error);
      }
      entry["tau_mean"].push_back(stats::mean_of(tau));
      entry["tau_p90"].push_back(stats::quantiles(tau).p90);
      entry["error_mean"].push_back(stats::mean_of(error));
      entry["error_p90"].push_back(stats::quantiles(error).p90);
    }
    found.push_back(std::move(entry));
  }
  return {{"rules", std::move(found)}};
}

}  // namespace

std::vector<Rule> length_rules(const Json& p) {
  std::vector<Rule> rules;
  for (const Which which : {Which::heaviest, Which::latest}) {
    rules.push_back({which});
    for (const double C : p.at("C").get<std::vector<double>>()) rules.push_back({which, 1, C});
  }
  return rules;
}

const Experiment& length_experiment() {
  static const Experiment experiment{
      {.name = "length",
       .what = "contexts of many lengths at the same total cost: fixed numbers of keys against "
               "alpha*n^C",
       .axes = {axis_n_low(256),
                axis_n_high(16384),
                axis_R(),
                axis_c(),
                {.name = "C",
                 .what = "exponents of the rules alpha*n^C, beside the fixed number",
                 .values = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1},
                 .least = 1e-6,
                 .most = 1},
                single_axis("keys", "keys that every rule reads per row, on average", 64, 1,
                            1 << 20, true),
                single_axis("sinks", "first keys that windows keep", 4, 0, 1 << 20, true),
                single_axis("rows", "rows of a synthetic head", 256, 4, 1 << 16, true),
                single_axis("replicates", "synthetic heads", 12, 1, 10000, true)},
       .takes_trace = true},
      points,
      compute,
      length_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
