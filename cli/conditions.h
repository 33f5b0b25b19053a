// The conditions that a witness must satisfy, as commands read and print them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <tamis/lab/bounds.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>

#include "command.h"

namespace tamis::cli {

/// The conditions that the command line asked for.
struct AskedConditions {
  std::optional<double> eps1;
  std::optional<double> eps2;
  bool causal = false;
  bool weak = false;

  /// Returns the conditions, taking from `otherwise` what the command line leaves open. Throws
  /// Error(usage) for values outside their range, and for --weak together with --eps1 or --eps2,
  /// which weak conditions do not use.
  [[nodiscard]] lab::Conditions or_else(const lab::Conditions& otherwise) const;
};

/// Declares --eps1, --eps2, --causal and --weak.
void add_conditions(CLI::App& app, AskedConditions& asked);

std::string conditions_text(const lab::Conditions& conditions);
/// eps1 and eps2 are null if weak.
nlohmann::ordered_json conditions_json(const lab::Conditions& conditions);

/// Returns `x`, or null if the conditions are weak: the theory's bounds on norms and dimensions
/// need eps1 and eps2.
nlohmann::ordered_json unless_weak(const lab::Conditions& conditions, double x);

/// Returns the bound in columns (m), or null if there is none or it is vacuous.
nlohmann::ordered_json bound_json(const std::optional<lab::DimensionBound>& bound);

/// Returns the names of the arithmetics in which the conditions hold.
std::vector<std::string> holds_in(const lab::Verification& verification);

/// Returns the margin, or a text which says that no row has a condition.
std::string margin_text(const lab::Checked& checked);

/// Returns the number, or null if it is not finite, which JSON cannot hold.
nlohmann::ordered_json number_or_null(double x);

}  // namespace tamis::cli
