// The conditions that a witness is to satisfy, as commands take and show them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>

#include "command.h"

namespace tamis::cli {

/// What the options say.
struct AskedConditions {
  std::optional<double> eps1;
  std::optional<double> eps2;
  bool causal = false;
  bool weak = false;

  /// With `otherwise` where they say nothing. Throws `usage` for values outside their range, and
  /// for
  /// --weak beside what it does not look at.
  [[nodiscard]] lab::Conditions or_else(const lab::Conditions& otherwise) const;
};

/// --eps1, --eps2, --causal and --weak.
void add_conditions(CLI::App& app, AskedConditions& asked);

std::string conditions_text(const lab::Conditions& conditions);
/// eps1 and eps2 are null if weak.
nlohmann::ordered_json conditions_json(const lab::Conditions& conditions);

/// Null if weak: what the theory says of norms and dimensions needs eps1 and eps2.
nlohmann::ordered_json unless_weak(const lab::Conditions& conditions, double x);

/// The names of the arithmetics in which the conditions hold.
std::vector<std::string> holds_in(const lab::Verification& verification);

/// The margin, or that no row has a condition.
std::string margin_text(const lab::Checked& checked);

/// A number, or null where JSON has none.
nlohmann::ordered_json number_or_null(double x);

}  // namespace tamis::cli
