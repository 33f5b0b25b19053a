// Rules for which keys to read and how many of n, and what they lose on the rows of a head.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/experiments/head_rows.h"
#include "lab/experiments/loss.h"

namespace tamis::lab::experiments {

/// Which keys a rule reads: the heaviest, or the first few (sinks) and the last ones.
enum class Which : std::uint8_t { heaviest, latest };
std::string name_of(Which which);

/// A rule that reads ⌈alpha·n^C⌉ or ⌈alpha·log n⌉ keys, at least 1 and at most n,
/// including any sinks.
struct Rule {
  Which which = Which::heaviest;
  double alpha = 1;
  double C = 0;  ///< exponent; 0 for a fixed number of keys
  bool log = false;

  [[nodiscard]] std::int64_t keys(std::int64_t n) const;
  [[nodiscard]] double growth(double n) const;    ///< n^C or log n
  [[nodiscard]] std::string growth_name() const;  ///< "fixed", "log n" or, for example, "n^0.5"
  [[nodiscard]] std::string name() const;         ///< for example "heaviest 1.41·n^0.5"
};
/// Returns the alpha at which a rule reads `keys` of n keys.
double alpha_for(const Rule& rule, double keys, double n);
/// Returns the largest alpha, to within 2^-40 of the longest length, at which reading rows of
/// these lengths costs at most `total` keys. If `total` suffices to read every key, the
/// result does so.
double alpha_within(const Rule& rule, std::span<const std::int64_t> lengths, std::int64_t total);
std::int64_t cost_of(const Rule& rule, std::span<const std::int64_t> lengths);

/// Returns losses[i][r], the loss of row i under rules[r]. For every row and `Which`, one sort and
/// one pass over the values serve all rules. Takes queries·n·(d + d_v + log n) operations. Same
/// bits for any number of threads.
std::vector<std::vector<Loss>> losses_of(const HeadRows& rows, std::span<const Rule> rules,
                                         std::int64_t sinks, const Scene& scene);

/// A guess at the seconds that losses_of takes on one core, where `keys` is Σ n over the rows.
double seconds_for(double keys, double dims);

}  // namespace tamis::lab::experiments
