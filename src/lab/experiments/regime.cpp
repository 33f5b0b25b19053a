#include "lab/experiments/regime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <tamis/text.h>

#include "core/fail.h"
#include "lab/experiments/trace_points.h"
#include "lab/stats/estimate.h"

namespace tamis::lab::experiments {

const std::array<RiseName, 3>& rises() {
  static constexpr std::array<RiseName, 3> all{{
      {Rise::fixed, "fixed", "R fixed", [](double) { return 1.0; }},
      {Rise::root, "root", "R grows as √log n", [](double n) { return std::sqrt(std::log(n)); }},
      {Rise::log, "log", "R grows as log n", [](double n) { return std::log(n); }},
  }};
  return all;
}

const RiseName& named(Rise rise) { return rises()[static_cast<std::size_t>(rise)]; }

Regime fixed_at(double R) { return {Rise::fixed, R}; }
Regime root_times(double c) { return {Rise::root, c}; }
Regime at_1024(Rise rise, double R) { return {rise, R, named(rise).of(regime_n), true}; }

std::string Regime::name() const {
  if (named_n)
    return fmt::format("{}, {} at n = {}", named(rise).words, stats::short_number(R), regime_n);
  return fmt::format("R = {}{}", R, rise == Rise::fixed ? "" : "·√log n");
}

void Regime::write(Json& parameters) const {
  if (named_n) parameters["regime"] = named(rise).name;
  parameters[named_n || rise == Rise::fixed ? "R" : "c"] = R;
}

Regime Regime::read(const Json& parameters) {
  if (parameters.contains("c")) return root_times(parameters.at("c"));
  if (!parameters.contains("regime")) return fixed_at(parameters.at("R"));
  const auto name = parameters.at("regime").get<std::string>();
  const auto at = std::ranges::find(rises(), name, &RiseName::name);
  if (at == rises().end())
    core::fail(Code::input, "there is no regime of R called '{}'; there are fixed, root and log",
               printable(name));
  return at_1024(at->rise, parameters.at("R"));
}

std::vector<Regime> regimes_of(const GridRequest& request) {
  std::vector<Regime> all;
  for (const double R : request.values("R")) all.push_back(fixed_at(R));
  for (const double c : request.values("c")) all.push_back(root_times(c));
  return all;
}

std::string setting_of(const GridRequest& request, const Json& parameters) {
  if (parameters.at("part") == "trace") return "heads of " + trace_name(request);
  return Regime::read(parameters).name();
}

}  // namespace tamis::lab::experiments
