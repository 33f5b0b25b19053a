// Measures how far deciding reaches: bounds of d_min for known families, and the sizes of random
// patterns for which d_min is found with evidence within the time limit. Every witness and every
// refutation is checked again here.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include <tamis/info.h>
#include <tamis/lab/decide.h>
#include <tamis/lab/generate.h>
#include "campaign/campaign.h"
#include "lab/numbers/random.h"
#include "support/lab/signs.h"

namespace tamis::test {
namespace {

using Rule = std::function<bool(std::int64_t, std::int64_t)>;

lab::Pattern pattern_by(std::int64_t n, const Rule& nonzero) {
  lab::Pattern pattern;
  pattern.rows = pattern.cols = n;
  pattern.row_start = {0};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      if (nonzero(i, j)) pattern.column.push_back(j);
    pattern.row_start.push_back(static_cast<std::int64_t>(pattern.column.size()));
  }
  pattern.value.assign(pattern.column.size(), 1.0);
  return pattern;
}

/// Each entry is a fair coin flip; a row of zeros gets a nonzero on the diagonal.
lab::Pattern coin_pattern(std::int64_t n, std::uint64_t seed) {
  std::vector<bool> bits;
  for (std::int64_t i = 0; i < n; ++i) {
    const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test,
                                      static_cast<std::uint64_t>(i));
    bool any = false;
    for (std::int64_t j = 0; j < n; ++j) {
      bits.push_back(stream.below(2, static_cast<std::uint32_t>(j)) == 1);
      any = any || bits.back();
    }
    if (!any) bits[static_cast<std::size_t>(i * n + i)] = true;
  }
  return pattern_by(
      n, [&](std::int64_t i, std::int64_t j) { return bits[static_cast<std::size_t>(i * n + j)]; });
}

struct Family {
  const char* name;
  std::vector<std::int64_t> sizes;
  std::function<lab::Pattern(std::int64_t n, std::uint64_t seed)> make;
};

const std::vector<Family>& known() {
  static const std::vector<Family> families{
      {"identity",
       {3, 8, 64, 1024},
       [](std::int64_t n, std::uint64_t) { return lab::block_pattern(n, 1, false); }},
      {"all but the identity",
       {3, 8, 64, 1024},
       [](std::int64_t n, std::uint64_t) {
         return pattern_by(n, [](std::int64_t i, std::int64_t j) { return i != j; });
       }},
      {"band, 3 to each side",
       {16, 64, 1024},
       [](std::int64_t n, std::uint64_t) { return lab::banded_pattern(n, 3, false); }},
      {"causal band of 4",
       {16, 64, 1024},
       [](std::int64_t n, std::uint64_t) { return lab::banded_pattern(n, 3, true); }},
      {"blocks of 4",
       {16, 64, 1024},
       [](std::int64_t n, std::uint64_t) { return lab::block_pattern(n, 4, false); }},
      {"all pairs",
       {4, 5, 6, 12, 48},
       [](std::int64_t n, std::uint64_t) { return lab::pairs_pattern(n); }},
      {"Hadamard signs", {4, 8, 16, 32}, [](std::int64_t n, std::uint64_t) { return hadamard(n); }},
      {"sparse, 2 a row and column",
       {64},
       [](std::int64_t n, std::uint64_t seed) { return lab::permutations_pattern(n, 2, 1, seed); }},
      {"sparse, 4 a row and column",
       {64},
       [](std::int64_t n, std::uint64_t seed) { return lab::permutations_pattern(n, 4, 1, seed); }},
  };
  return families;
}

const std::vector<Family>& random() {
  static const std::vector<Family> families{
      {"fair coins", {6, 8, 10, 12, 14, 16, 20, 24}, coin_pattern},
      {"2 a row and column",
       {8, 16, 24, 32, 48},
       [](std::int64_t n, std::uint64_t seed) { return lab::permutations_pattern(n, 2, 1, seed); }},
      {"3 a row and column",
       {8, 12, 16, 24, 32},
       [](std::int64_t n, std::uint64_t seed) { return lab::permutations_pattern(n, 3, 1, seed); }},
  };
  return families;
}

/// Decides a pattern, and says whether independent checks accept the evidence.
std::pair<lab::Decision, bool> decided(const lab::Pattern& pattern,
                                       const CampaignOptions& options) {
  lab::DecideOptions wanted;
  wanted.time_limit = options.time_limit;
  wanted.seed = options.seed;
  wanted.threads = options.threads;
  lab::Decision decision = lab::decide(pattern, wanted);
  bool good = true;
  if (decision.refutation && decision.refutation->proved())
    good = lab::check_refutation(pattern, *decision.refutation).holds;
  if (decision.witness)
    good = good && lab::verify(pattern, *decision.witness, lab::Conditions{.weak = true}).holds();
  return {std::move(decision), good};
}

std::string grounds_of(const lab::Decision& decision) {
  return decision.refutation ? lab::name_of(decision.refutation->grounds) : "-";
}

std::string upper_of(const lab::Decision& decision) {
  return decision.upper ? std::to_string(*decision.upper) : "-";
}

std::string known_table(const CampaignOptions& options, bool& good) {
  std::string table =
      "| pattern | n | lower | by | upper | by | seconds |\n"
      "| --- | ---: | ---: | --- | ---: | --- | ---: |\n";
  for (const Family& family : known())
    for (const std::int64_t n : family.sizes) {
      const auto [decision, holds] = decided(family.make(n, options.seed), options);
      good = good && holds;
      table += fmt::format("| {} | {} | {} | {} | {} | {} | {:.2f} |\n", family.name, n,
                           decision.lower, grounds_of(decision), upper_of(decision),
                           decision.method.empty() ? "-" : decision.method, decision.seconds);
      fmt::print(stderr, "  {}, n = {}: [{}, {}] {:.1f} s\n", family.name, n, decision.lower,
                 upper_of(decision), decision.seconds);
    }
  return table;
}

std::string reach_table(const CampaignOptions& options, bool& good) {
  constexpr std::uint64_t patterns = 3;
  std::string table =
      "| pattern | n | d_min known | intervals | by a solver's word | seconds, median and most |\n"
      "| --- | ---: | ---: | --- | ---: | ---: |\n";
  for (const Family& family : random())
    for (const std::int64_t n : family.sizes) {
      std::uint64_t closed = 0;
      std::uint64_t by_word = 0;
      std::vector<std::string> intervals;
      std::vector<double> seconds;
      for (std::uint64_t i = 0; i < patterns; ++i) {
        const auto [decision, holds] = decided(family.make(n, 1000 * options.seed + i), options);
        good = good && holds;
        const bool known_now = decision.upper == decision.lower;
        closed += known_now ? 1 : 0;
        by_word += decision.refutation && !decision.refutation->proved() ? 1 : 0;
        intervals.push_back(known_now ? std::to_string(decision.lower)
                                      : fmt::format("{}–{}", decision.lower, upper_of(decision)));
        seconds.push_back(decision.seconds);
      }
      std::ranges::sort(intervals);
      std::ranges::sort(seconds);
      table += fmt::format("| {} | {} | {} of {} | {} | {} | {:.2f}, {:.2f} |\n", family.name, n,
                           closed, patterns, fmt::join(intervals, ", "), by_word,
                           seconds[patterns / 2], seconds.back());
      fmt::print(stderr, "  {}, n = {}: {} of {} in {:.1f} s at most\n", family.name, n, closed,
                 patterns, seconds.back());
      if (closed == 0) break;  // larger ones are harder
    }
  return table;
}

}  // namespace

bool check_decide(const CampaignOptions& options) {
  bool good = true;
  const std::time_t begin = std::time(nullptr);
  const std::string reach = reach_table(options, good);
  const std::string families = known_table(options, good);
  publish(fmt::format(
              "# How far deciding reaches\n\n`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, "
              "{} s, at most {:g} s a pattern.\n\n"
              "d_min is the least number of columns of queries and keys that weakly produce a "
              "pattern (docs/decide.md), queries and keys free "
              "(d_hid ≥ 2d). Upper bounds are witnesses verified in exact arithmetic, lower bounds "
              "refutations checked independently, both once "
              "more by this campaign{}.\n\n## Random patterns\nThree of each size; a family ends "
              "where none was decided. An interval a–b is open: "
              "dimensions below a are refuted, b has a witness, between them nothing is known; "
              "every dimension outside is decided.\n\n{}\n"
              "## Known families\n{}",
              options.command, options.seed, version(), processor(),
              options.threads > 0 ? options.threads : hardware_threads(), fmt::gmtime(begin),
              std::time(nullptr) - begin, options.time_limit, good ? "" : " (NOT ALL HOLD)", reach,
              families),
          options);
  return good;
}

}  // namespace tamis::test
