// The `alpha` sweep compares the alpha of k = alpha·n^C from split-conformal calibration with
// alphas chosen by hand: how often does a held-out row keep mass 1 − eps, and how many keys does
// that take? The rules are judged on rows like those of the calibration, where conformal
// calibration guarantees 1 − delta, and on longer ones, where it guarantees nothing. A point is
// one synthetic head or one head of a trace, and takes one `row_figures` over its rows.
#include "lab/experiments/alpha/alpha.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tamis/lab/conformal.h>

#include "lab/experiments/axes.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/trace_points.h"

namespace tamis::lab::experiments {
namespace {

constexpr std::size_t few_rows = 10;  // rows that a person would look at when tuning by eye

/// The rows of one head and the part to which each is assigned.
struct Dealt {
  std::vector<double> n, k_eps;
  std::vector<lab::Part> parts;
};

std::vector<GridPoint> points(const GridRequest& request) {
  const auto [low, high] = length_range(request);
  std::vector<GridPoint> all;
  const auto add = [&](Json parameters, double seconds) {
    parameters["eps"] = request.value("eps");
    parameters["delta"] = request.value("delta");
    parameters["alpha"] = request.values("alpha");
    parameters["log"] = request.values("log");
    parameters["seed"] = request.seed;
    all.push_back({std::move(parameters), seconds});
  };
  const std::int64_t rows = request.whole("rows");
  const std::int64_t held_out = request.whole("held_out");
  const auto longest = static_cast<double>(high);
  for (const Regime& regime : regimes_of(request))
    for (const char* test : {"alike", "longer"})
      for (std::int64_t replicate = 0; replicate < request.whole("replicates"); ++replicate) {
        Json parameters{{"part", "synthetic"}, {"test", test}, {"n_low", low},
                        {"n_high", high},      {"rows", rows}, {"held_out", held_out}};
        regime.write(parameters);
        parameters["replicate"] = replicate;
        add(std::move(parameters),
            longest * (3e-6 + 7e-9 * static_cast<double>(2 * rows + held_out)));
      }
  for (const Json& head : head_points(request, 12))
    for (const char* test : {"alike", "longer"}) {
      Json parameters = head;
      parameters["test"] = test;
      add(std::move(parameters), 2e-8 * keys_seen(request.trace->trace));
    }
  return all;
}

/// Makes the rows of a synthetic head, which are independent draws of (length, query) over one
/// head's keys. The assignment to parts can therefore be arbitrary, except that the held-out rows
/// are longer if the test asks for that.
Dealt synthetic(const Json& p, const Scene& scene) {
  const std::int64_t rows = p.at("rows");
  const std::int64_t held_out = p.at("held_out");
  const double low = p.at("n_low");
  const double high = p.at("n_high");
  const bool longer = p.at("test") == "longer";
  const double middle = std::sqrt(low * high);
  const std::uint64_t seed = seed_of(p);
  std::vector<std::int64_t> seen = log_uniform(2 * rows, low, longer ? middle : high, seed);
  const std::vector<std::int64_t> later =
      log_uniform(2 * rows + held_out, longer ? middle : low, high, seed);
  seen.insert(seen.end(), later.begin() + 2 * rows, later.end());
  Dealt dealt;
  dealt.parts.assign(static_cast<std::size_t>(2 * rows + held_out), lab::Part::held_out);
  std::fill_n(dealt.parts.begin(), rows, lab::Part::fit);
  std::fill_n(dealt.parts.begin() + rows, rows, lab::Part::calibration);
  const HeadRows head = synthetic_rows(Regime::read(p), std::move(seen), seed);
  dealt.n = head.lengths();
  dealt.k_eps = head.k_eps(p.at("eps"), scene.threads);
  return dealt;
}

Dealt of_trace(const Json& p, const Scene& scene) {
  const HeadRows head = trace_rows(p, *scene.trace);
  const std::uint64_t seed = p.at("seed");
  Dealt dealt{head.lengths(), head.k_eps(p.at("eps"), scene.threads), {}};
  dealt.parts = split_rows(dealt.n, 0, seed);
  if (p.at("test") != "longer") return dealt;
  // The longer half is held out; blocks of the shorter half go alternately to the other two parts.
  std::vector<std::size_t> order(dealt.n.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return dealt.n[row]; });
  const std::size_t half = order.size() / 2;
  const std::size_t block = std::clamp<std::size_t>(half / 4, 1, 8);
  for (std::size_t i = 0; i < order.size(); ++i)
    dealt.parts[order[i]] = i >= half            ? lab::Part::held_out
                            : i / block % 2 == 0 ? lab::Part::fit
                                                 : lab::Part::calibration;
  return dealt;
}

/// The least alpha with which alpha·√n suffices for the first few calibration rows.
double by_eye(const Dealt& dealt) {
  double alpha = 0;
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < dealt.n.size() && looked_at < few_rows; ++i) {
    if (dealt.parts[i] != lab::Part::calibration) continue;
    alpha = std::max(alpha, dealt.k_eps[i] / std::sqrt(dealt.n[i]));
    ++looked_at;
  }
  return alpha;
}

Json judged(const Coverage& held_out, double keys, std::optional<double> alpha, double C) {
  return {{"alpha", alpha ? Json(*alpha) : Json()},
          {"C", C},
          {"rows", held_out.rows},
          {"covered", held_out.covered},
          {"low", held_out.low},
          {"high", held_out.high},
          {"keys", keys}};
}

Json judged(const Conformal& rule) {
  return judged(rule.held_out, rule.mean_keys,
                rule.finite() ? std::optional(rule.alpha) : std::nullopt, rule.C);
}

Json judged(const Rule& rule, const Dealt& dealt) {
  std::int64_t rows = 0;
  std::int64_t covered = 0;
  double keys = 0;
  for (std::size_t i = 0; i < dealt.n.size(); ++i) {
    if (dealt.parts[i] != lab::Part::held_out) continue;
    const auto read = static_cast<double>(rule.keys(std::llround(dealt.n[i])));
    ++rows;
    covered += read >= dealt.k_eps[i] ? 1 : 0;
    keys += read;
  }
  return judged(coverage(covered, rows), keys / static_cast<double>(rows), rule.alpha, rule.C);
}

/// The rules chosen by hand, in the order of `alpha_rule_names`.
std::vector<Rule> by_hand(const Json& p) {
  std::vector<Rule> rules;
  for (const double alpha : p.at("alpha").get<std::vector<double>>())
    rules.push_back({Which::heaviest, alpha, 0.5});
  for (const double alpha : p.at("log").get<std::vector<double>>())
    rules.push_back({Which::heaviest, alpha, 0, true});
  return rules;
}

Json compute(const Json& p, const Scene& scene) {
  const Dealt dealt = p.at("part") == "trace" ? of_trace(p, scene) : synthetic(p, scene);
  const double C = fit_exponent(dealt.n, dealt.k_eps, dealt.parts);
  Json rules = Json::array();
  for (const double exponent : {C, 0.0})
    rules.push_back(
        judged(calibrate_power(dealt.n, dealt.k_eps, dealt.parts, exponent, p.at("delta"))));
  for (const Rule& rule : by_hand(p)) rules.push_back(judged(rule, dealt));
  rules.push_back(judged(Rule{Which::heaviest, by_eye(dealt), 0.5}, dealt));
  double needed = 0;
  double held_out = 0;
  for (std::size_t i = 0; i < dealt.n.size(); ++i) {
    if (dealt.parts[i] != lab::Part::held_out) continue;
    needed += dealt.k_eps[i];
    ++held_out;
  }
  return {{"rules", std::move(rules)}, {"needed", needed / held_out}};
}

}  // namespace

std::vector<std::string> alpha_rule_names(const Json& p) {
  std::vector<std::string> names{"conformal alpha·n^C", "conformal fixed number"};
  for (const Rule& rule : by_hand(p))
    names.push_back(fmt::format("{}·{}", rule.alpha, rule.log ? "log n" : "√n"));
  names.push_back(fmt::format("√n, alpha by eye on {} rows", few_rows));
  return names;
}

const Experiment& alpha_experiment() {
  static const Experiment experiment{
      {.name = "alpha",
       .what =
           "alpha by conformal calibration against alphas chosen by hand: coverage and keys read",
       .axes = {axis_R(),
                axis_c(),
                {.name = "alpha",
                 .what = "alpha of the rules alpha*sqrt(n) written down by hand",
                 .values = {1, 2, 4, 8, 16, 32},
                 .least = 1e-6,
                 .most = 1e6},
                {.name = "log",
                 .what = "alpha of the rules alpha*log n written down by hand",
                 .values = {8, 128},
                 .least = 1e-6,
                 .most = 1e6},
                single_axis("eps", "mass that may be dropped", 0.05, 1e-9, 0.999, false),
                single_axis("delta", "share of rows that may drop more", 0.1, 1e-6, 0.999, false),
                axis_n_low(256),
                axis_n_high(8192),
                single_axis("rows", "synthetic rows for the exponent, and as many for calibration",
                            100, 1, 1 << 16, true),
                single_axis("held_out", "synthetic rows to judge on", 400, 1, 1 << 16, true),
                single_axis("replicates", "synthetic heads", 40, 1, 10000, true)},
       .takes_trace = true},
      points,
      compute,
      alpha_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
