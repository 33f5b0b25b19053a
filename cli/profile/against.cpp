// Compares two profiles head by head.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <tamis/text.h>

#include "profile/report.h"
#include "terminal/table.h"

namespace tamis::cli {

std::string against_table(const lab::Profile& profile, const lab::Profile& other,
                          const std::string& path) {
  const std::vector<lab::HeadDifference> differences = lab::compare_profiles(profile, other);
  const std::string eps = eps_text(profile.options.rows.eps.front());
  std::vector<std::vector<std::string>> rows{
      {"layer", "head", "k " + eps, "theirs", "ratio", "C", "theirs", "apart", "law", "theirs"}};
  int laws = 0;
  int apart = 0;
  std::vector<double> ratios;
  for (const lab::HeadDifference& difference : differences) {
    const lab::KEpsProfile& a = difference.a->by_eps.front();
    const lab::KEpsProfile& b = difference.b->by_eps.front();
    laws += difference.law_differs ? 1 : 0;
    apart += difference.exponents_apart ? 1 : 0;
    if (std::isfinite(difference.k_ratio)) ratios.push_back(difference.k_ratio);
    rows.push_back({std::to_string(difference.a->layer), std::to_string(difference.a->head),
                    number(a.k_eps.median), number(b.k_eps.median), number(difference.k_ratio),
                    number(a.law.C), number(b.law.C), difference.exponents_apart ? "yes" : "",
                    std::string(lab::name_of(a.law.law)),
                    difference.law_differs ? std::string(lab::name_of(b.law.law)) : "="});
  }
  std::ranges::sort(ratios);
  const double ratio = ratios.empty() ? std::nan("") : ratios[(ratios.size() - 1) / 2];
  return fmt::format("Against {} ({})\n", path, printable(other.trace)) + table_text(rows) +
         fmt::format(
             "{} heads: {} of another law, {} whose intervals for C do not meet, median ratio of k "
             "{}.\n",
             differences.size(), laws, apart, number(ratio));
}

}  // namespace tamis::cli
