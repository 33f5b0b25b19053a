#include "conditions.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <tamis/error.h>

namespace tamis::cli {

using nlohmann::ordered_json;

lab::Conditions AskedConditions::or_else(const lab::Conditions& otherwise) const {
  if (weak && (eps1 || eps2))
    throw Error(Code::usage,
                "--weak looks at neither eps1 nor eps2; leave out --weak, or --eps1 and --eps2");
  lab::Conditions conditions;
  conditions.causal = otherwise.causal || causal;
  conditions.weak = weak || (otherwise.weak && !eps1 && !eps2);
  conditions.eps1 = eps1.value_or(otherwise.eps1);
  conditions.eps2 = eps2.value_or(otherwise.eps2);
  lab::check_conditions(conditions);
  return conditions;
}

void add_conditions(CLI::App& app, AskedConditions& asked) {
  const auto text = [](const char* what, double otherwise) {
    return fmt::format("{} (default: {})", what, otherwise);
  };
  app.add_option("--eps1", asked.eps1,
                 text("share of a nonzero that a zero may have, 0 < E < 1", lab::Conditions{}.eps1))
      ->type_name("E");
  app.add_option("--eps2", asked.eps2,
                 text("how far log ratios of nonzeros may be off, E > 0", lab::Conditions{}.eps2))
      ->type_name("E");
  app.add_flag("--causal", asked.causal, "row i sees columns up to i only");
  app.add_flag("--weak", asked.weak, "only that nonzeros lie above zeros");
}

std::string conditions_text(const lab::Conditions& conditions) {
  const std::string which =
      conditions.weak ? "weak" : fmt::format("eps1 {}, eps2 {}", conditions.eps1, conditions.eps2);
  return which + (conditions.causal ? ", causal" : "");
}

std::string margin_text(const lab::Checked& checked) {
  if (checked.worst_row < 0) return "none, for no row has a condition to fail";
  return fmt::format("{:.6g}", checked.margin);
}

ordered_json unless_weak(const lab::Conditions& conditions, double x) {
  return conditions.weak ? ordered_json() : ordered_json(x);
}

ordered_json bound_json(const std::optional<lab::DimensionBound>& bound) {
  return !bound || bound->vacuous ? ordered_json() : ordered_json(bound->d / 2);
}

ordered_json conditions_json(const lab::Conditions& conditions) {
  return {{"eps1", unless_weak(conditions, conditions.eps1)},
          {"eps2", unless_weak(conditions, conditions.eps2)},
          {"causal", conditions.causal},
          {"weak", conditions.weak}};
}

std::vector<std::string> holds_in(const lab::Verification& verification) {
  std::vector<std::string> names;
  for (const lab::Arithmetic a :
       {lab::Arithmetic::f32, lab::Arithmetic::f64, lab::Arithmetic::exact})
    if (verification[a].holds) names.emplace_back(lab::name_of(a));
  return names;
}

ordered_json number_or_null(double x) {
  return std::isfinite(x) ? ordered_json(x) : ordered_json();
}

}  // namespace tamis::cli
