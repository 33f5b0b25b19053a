// Reads a solver's answer: sat, unsat or unknown, and the numbers of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tamis::lab::decision {

/// The joint verdict of the first `checks` (check-sat) answers, of which one must be satisfiable:
/// "sat" if one is, "unsat" if all are unsat, else "unknown"; empty if there are fewer answers.
std::string_view smt_verdict(std::string_view output, std::int64_t checks = 1);

/// The numbers that (get-value (…)) printed after a sat, in the order of `names`, converted to f64.
/// A number is a decimal, perhaps truncated and then marked with "?", or (- …) or (/ … …). Nothing
/// if one is missing or is not a number.
std::optional<std::vector<double>> smt_values(std::string_view output,
                                              const std::vector<std::string>& names);

}  // namespace tamis::lab::decision
