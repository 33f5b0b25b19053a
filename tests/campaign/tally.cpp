#include "campaign/tally.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include <tamis/info.h>

namespace tamis::testing {
namespace {

constexpr std::size_t violations_named = 5;

void add_lines(std::map<std::string, Tally::Line>& into, const std::map<std::string, Tally::Line>& from) {
  for (const auto& [name, line] : from) {
    into[name].report.add(line.report);
    into[name].rows += line.rows;
  }
}

std::string number(double x) { return std::isfinite(x) ? fmt::format("{:.3g}", x) : "–"; }

std::string spread(const Spread& spread) {
  if (spread.count() == 0) return "– | – | –";
  return fmt::format("{} | {} | {}", number(spread.smallest()), number(spread.quantile(0.5)),
                     number(spread.largest()));
}

std::string row(std::string_view name, const Tally::Line& line) {
  const Report& r = line.report;
  const double share =
      r.dense == 0 ? 0 : static_cast<double>(r.dense) / static_cast<double>(r.dense + r.sparse);
  return fmt::format("| {} | {} | {} | {} | {:.1f} % | {} | {} | {} | {} |\n", name, r.records, line.rows,
                     r.violations, 100 * share, r.empty, r.blind, spread(r.tau), spread(r.error));
}

std::string table(std::string_view what, const std::map<std::string, Tally::Line>& lines) {
  std::string text = fmt::format(
      "| {} | records | rows | violations | dense | empty | blind | τ min | median | max | error min | "
      "median | max |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      what);
  for (const auto& [name, line] : lines) text += row(std::string_view(name).substr(3), line);
  return text;
}

}  // namespace

void Tally::add(const Tally& other) {
  add_lines(kinds, other.kinds);
  add_lines(budgets, other.budgets);
  all.report.add(other.all.report);
  all.rows += other.all.rows;
  real_rows += other.real_rows;
  for (const auto& [claim, sentences] : other.violations)
    for (const std::string& sentence : sentences)
      if (violations[claim].size() < violations_named) violations[claim].push_back(sentence);
}

std::string report(const Tally& tally, const CampaignOptions& options,
                   const std::vector<std::string>& targets, double seconds) {
  const Report& all = tally.all.report;
  std::string text = fmt::format(
      "# Certificates against an f64 oracle\n\n"
      "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s; kernels: {}.\n\n"
      "**{} records** (head, query, budget), **{} violations**. {} distinct rows, of which {} are real "
      "(from "
      "traces); {} records are sparse and {} dense fallbacks, the rest see no key.\n\n",
      options.command, options.seed, version(), processor(), options.threads,
      std::chrono::system_clock::now(), seconds, fmt::join(targets, ", "), all.records, all.violations,
      tally.all.rows, tally.real_rows, all.sparse, all.dense);
  text +=
      "A record is checked for τ (total variation between exact weights and weights used), the error of "
      "the "
      "output and of the log-sum-exp, its counts and bytes, its budget, and, where it says dense, the bits "
      "of "
      "dense attention. τ and error columns: certified / true over the sparse records, where the truth is "
      "above "
      "the oracle's own uncertainty. *Empty*: sparse and certified τ ≥ 1. *Blind*: certified below what "
      "the oracle can "
      "resolve, so that only larger violations would show.\n\n";
  text += table("numbers", tally.kinds) + "\n" + table("budget", tally.budgets);
  if (!tally.violations.empty()) {
    text += "\n## Violations\n";
    for (const auto& [claim, sentences] : tally.violations)
      for (const std::string& sentence : sentences) text += "- " + sentence + "\n";
  }
  return text;
}

}  // namespace tamis::testing
