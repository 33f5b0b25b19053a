#include "lab/experiments/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/fail.h"
#include "core/parallel.h"

namespace tamis::lab::experiments {

std::string name_of(Which which) { return which == Which::heaviest ? "heaviest" : "window"; }

double Rule::growth(double n) const { return log ? std::log(n) : std::pow(n, C); }

std::int64_t Rule::keys(std::int64_t n) const {
  // The factor keeps a product that rounding puts just above a whole number from reading
  // one more key.
  const double wanted = std::ceil(alpha * growth(static_cast<double>(n)) * (1 - 1e-12));
  return wanted >= static_cast<double>(n)
             ? n
             : std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

std::string Rule::growth_name() const {
  if (log) return "log n";
  return C == 0 ? "fixed" : fmt::format("n^{}", C);
}

std::string Rule::name() const {
  return fmt::format("{} {:.3g}{}", name_of(which), alpha,
                     !log && C == 0 ? "" : "·" + growth_name());
}

double alpha_for(const Rule& rule, double keys, double n) { return keys / rule.growth(n); }

std::int64_t cost_of(const Rule& rule, std::span<const std::int64_t> lengths) {
  std::int64_t sum = 0;
  for (const std::int64_t n : lengths) sum += rule.keys(n);
  return sum;
}

double alpha_within(const Rule& rule, std::span<const std::int64_t> lengths, std::int64_t total) {
  const auto within = [&](double alpha) {
    Rule tried = rule;
    tried.alpha = alpha;
    return cost_of(tried, lengths) <= total;
  };
  // With alpha = n a rule reads everything, whatever its growth.
  double high = static_cast<double>(*std::ranges::max_element(lengths));
  double low = 0;
  if (within(high)) return high;
  while (high - low > std::ldexp(high, -40)) {
    const double middle = 0.5 * (low + high);
    (within(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<std::vector<Loss>> losses_of(const HeadRows& rows, std::span<const Rule> rules,
                                         std::int64_t sinks, const Scene& scene) {
  const std::int64_t queries = rows.shape.queries;
  std::vector<std::vector<Loss>> losses(static_cast<std::size_t>(queries),
                                        std::vector<Loss>(rules.size()));
  const auto one = [&](std::int64_t query) {
    const std::vector<double> logits = rows.logits(query);
    const auto n = static_cast<std::int64_t>(logits.size());
    for (const Which which : {Which::heaviest, Which::latest}) {
      std::vector<std::size_t> mine;
      std::vector<std::int64_t> kept;
      for (std::size_t r = 0; r < rules.size(); ++r) {
        if (rules[r].which != which) continue;
        mine.push_back(r);
        kept.push_back(rules[r].keys(n));
      }
      if (mine.empty()) continue;
      const std::vector<std::int64_t> order =
          which == Which::heaviest ? heaviest_first(logits) : latest_first(n, sinks);
      const std::vector<Loss> lost = losses_of(logits, rows.v, rows.shape.value_dim, order, kept);
      for (std::size_t i = 0; i < mine.size(); ++i)
        losses[static_cast<std::size_t>(query)][mine[i]] = lost[i];
    }
  };
  constexpr std::int64_t piece = 32;  // rows between two progress calls
  for (std::int64_t first = 0; first < queries; first += piece) {
    if (scene.progress && !scene.progress(static_cast<double>(first), static_cast<double>(queries)))
      core::fail(Code::cancelled, "the point was cancelled after {} of {} rows", first, queries);
    core::parallel_for(std::min(piece, queries - first), scene.threads,
                       [&](std::int64_t i, int) { one(first + i); });
  }
  return losses;
}

double seconds_for(double keys, double dims) { return keys * (1.2e-9 * dims + 1.5e-7); }

}  // namespace tamis::lab::experiments
