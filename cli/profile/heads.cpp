// One table for each layer with a line per head, and a summary of what the heads have in common.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "profile/report.h"
#include "profile/spark.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using Row = std::vector<std::string>;

std::vector<double> medians_of(const lab::KEpsProfile& of_eps) {
  std::vector<double> medians;
  for (const lab::GrowthBin& bin : of_eps.growth) medians.push_back(bin.k_eps.median);
  return medians;
}

std::string interval(const lab::LawFit& law) {
  if (!std::isfinite(law.C_low)) return "-";
  return fmt::format("{:.2f}…{:.2f}", law.C_low, law.C_high);
}

Row line_of(const lab::HeadProfile& head) {
  const lab::KEpsProfile& of_eps = head.by_eps.front();
  const lab::Coverage& held_out = of_eps.rules.power.held_out;
  Row row{std::to_string(head.head),
          number(of_eps.k_eps.median),
          fmt::format("{}…{}", number(of_eps.k_eps.p10), number(of_eps.k_eps.p90)),
          percent(of_eps.share.median),
          bar(of_eps.share.median, 6),
          sparkline(medians_of(of_eps), true),
          std::string(lab::name_of(of_eps.law.law)),
          std::isfinite(of_eps.law.C) ? fmt::format("{:.2f}", of_eps.law.C) : "-",
          interval(of_eps.law),
          number(of_eps.null.median)};
  for (std::size_t e = 1; e < head.by_eps.size(); ++e)
    row.push_back(number(head.by_eps[e].k_eps.median));
  row.insert(row.end(), {number(head.sigma.median), mass(head.top1.median),
                         number(head.effective_support.median), mass(head.sink.median)});
  row.push_back(held_out.rows > 0 && of_eps.rules.power.finite() ? percent(held_out.rate) : "-");
  return row;
}

Row heading_of(const lab::Profile& profile) {
  const std::vector<double>& eps = profile.options.rows.eps;
  Row row{"head",  "k " + eps_text(eps[0]), "p10…p90", "of n", "", "growth", "law", "C", "interval",
          "null k"};
  for (std::size_t e = 1; e < eps.size(); ++e) row.push_back("k " + eps_text(eps[e]));
  row.insert(row.end(),
             {"sigma", "top-1", "e^H",
              profile.options.rows.sinks == 1 ? "first"
                                              : fmt::format("first {}", profile.options.rows.sinks),
              "held out"});
  return row;
}

double middle(std::vector<double> values) {
  std::erase_if(values, [](double x) { return !std::isfinite(x); });
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

/// Returns the reasons why heads have no law, each with its heads, as far as a page has room.
std::string reasons_text(const std::map<std::string, std::vector<std::string>>& reasons) {
  constexpr std::size_t most_reasons = 12;
  constexpr std::size_t most_heads = 6;
  std::string text;
  std::size_t told = 0;
  for (const auto& [reason, heads] : reasons) {
    if (told++ == most_reasons) {
      text +=
          fmt::format("  … and {} more reasons; --json has all\n", reasons.size() - most_reasons);
      break;
    }
    const auto last =
        heads.begin() + static_cast<std::ptrdiff_t>(std::min(heads.size(), most_heads));
    text += fmt::format(
        "  no law in {} {}{}: {}\n", heads.size() == 1 ? "head" : "heads",
        fmt::join(heads.begin(), last, ", "),
        heads.size() > most_heads ? fmt::format(" and {} more", heads.size() - most_heads) : "",
        reason);
  }
  return text;
}

}  // namespace

std::string eps_text(double eps) { return fmt::format("{:.4g}%", 100 * eps); }
std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}
std::string mass(double share) { return std::isfinite(share) ? fmt::format("{:.3f}", share) : "-"; }

std::string head_tables(const lab::Profile& profile) {
  // All layers are laid out as one table, so that their columns align, which is then split by
  // layer.
  std::vector<Row> rows{heading_of(profile)};
  for (const lab::HeadProfile& head : profile.heads) rows.push_back(line_of(head));
  std::istringstream lines(table_text(rows));
  std::string heading;
  std::getline(lines, heading);
  std::string text;
  const lab::HeadProfile* before = nullptr;
  for (const lab::HeadProfile& head : profile.heads) {
    if (before == nullptr || before->layer != head.layer)
      text += fmt::format("{}layer {}\n{}\n", before == nullptr ? "" : "\n", head.layer, heading);
    std::string line;
    std::getline(lines, line);
    text += line + '\n';
    before = &head;
  }
  return text + '\n';
}

std::string law_summary(const lab::Profile& profile) {
  std::string text;
  for (std::size_t e = 0; e < profile.options.rows.eps.size(); ++e) {
    std::map<lab::Law, int> laws;
    std::map<std::string, std::vector<std::string>> reasons;
    std::vector<double> exponents, keys, shares;
    for (const lab::HeadProfile& head : profile.heads) {
      const lab::KEpsProfile& of_eps = head.by_eps[e];
      ++laws[of_eps.law.law];
      if (of_eps.law.law == lab::Law::none && !of_eps.law.reason.empty())
        reasons[of_eps.law.reason].push_back(fmt::format("{}:{}", head.layer, head.head));
      exponents.push_back(of_eps.law.C);
      keys.push_back(of_eps.k_eps.median);
      shares.push_back(of_eps.share.median);
    }
    std::vector<std::string> counts;
    counts.reserve(laws.size());
    for (const auto& [law, count] : laws)
      counts.push_back(fmt::format("{} {}", lab::name_of(law), count));
    text += fmt::format("k {}: laws {}; median C {}, k {} ({} of n) over {} heads.\n",
                        eps_text(profile.options.rows.eps[e]), fmt::join(counts, ", "),
                        number(middle(exponents)), number(middle(keys)), percent(middle(shares)),
                        profile.heads.size());
    text += reasons_text(reasons);
  }
  return text;
}

}  // namespace tamis::cli
