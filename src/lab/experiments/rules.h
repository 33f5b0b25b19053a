// Rules for how many keys of n to read and which, and what they lose on the rows of a head.
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

/// ⌈alpha·n^C⌉ keys, or ⌈alpha·log n⌉, at least 1 and at most n; sinks count.
struct Rule {
  Which which = Which::heaviest;
  double alpha = 1;
  double C = 0;  ///< 0: a fixed number
  bool log = false;

  [[nodiscard]] std::int64_t keys(std::int64_t n) const;
  [[nodiscard]] double growth(double n) const;    ///< n^C or log n
  [[nodiscard]] std::string growth_name() const;  ///< "fixed", "log n", "n^0.5"
  [[nodiscard]] std::string name() const;         ///< "heaviest 1.41·n^0.5"
};
/// The alpha at which a rule reads `keys` of n.
double alpha_for(const Rule& rule, double keys, double n);
/// The largest alpha at which reading the rows of these lengths costs at most `total` keys, to
/// 2^-40 of it; a rule that can read everything for that does.
double alpha_within(const Rule& rule, std::span<const std::int64_t> lengths, std::int64_t total);
std::int64_t cost_of(const Rule& rule, std::span<const std::int64_t> lengths);

/// losses[i][r]: of row i under rules[r]. Of every row all rules are judged by one sort and one
/// pass over its values for each `Which`; queries·n·(d + d_v + log n) operations, the same bits for
/// any number of threads.
std::vector<std::vector<Dropped>> losses_of(const HeadRows& rows, std::span<const Rule> rules,
                                            std::int64_t sinks, const Scene& scene);

/// A guess at the seconds that takes on one core, `keys` being Σ n over the rows.
double seconds_for(double keys, double dims);

}  // namespace tamis::lab::experiments
