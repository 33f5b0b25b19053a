// Reads what a solver answers: sat, unsat or unknown, and the numbers of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tamis::lab::decision {

/// What so many (check-sat) come to, of which one must be satisfiable: "sat" if one says so,
/// "unsat" if all do, else "unknown"; empty if there are fewer answers.
std::string_view smt_verdict(std::string_view output, std::int64_t checks = 1);

/// The numbers that (get-value (…)) printed after a sat, in the order of `names`, to f64; nothing
/// if one is missing or is no number: a decimal, perhaps cut short and so marked with "?", (- …) or
/// (/ … …).
std::optional<std::vector<double>> smt_values(std::string_view output,
                                              const std::vector<std::string>& names);

}  // namespace tamis::lab::decision
