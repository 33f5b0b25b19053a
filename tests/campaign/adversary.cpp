// The adversary's campaign. Each round draws heads and searches from the nearest of them, on every
// target, until enough results were read sparsely. Takes about 40 µs per record and core.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include <tamis/info.h>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "support/certificates/adversary.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

/// What the attacks on one target reached, for each way.
struct OnTarget {
  const kernels::Kernels* kernels;
  std::string name;
  std::vector<Reached> reached;
};

std::vector<OnTarget> all_runnable() {
  int count = 0;
  const kernels::KernelTarget* targets = kernels::kernel_targets(count);
  std::vector<OnTarget> all;
  for (int t = 0; t < count; ++t)
    if (const kernels::Kernels* kernels = runnable(targets[t]); kernels != nullptr)
      all.push_back({kernels,
                     fmt::format("{}{}", kernels->name, targets[t].runs_here ? "" : " (emulated)"),
                     {}});
  return all;
}

std::int64_t sum(const std::vector<OnTarget>& targets, std::int64_t Reached::*field) {
  std::int64_t all = 0;
  for (const OnTarget& target : targets)
    for (const Reached& reached : target.reached) all += reached.*field;
  return all;
}

std::string nearest(const Reached& reached) {
  return fmt::format("{:.7f} · {:.7f} · {:.7f}", reached.nearest[0], reached.nearest[1],
                     reached.nearest[2]);
}

std::string report(const std::vector<OnTarget>& targets, const CampaignOptions& options,
                   std::int64_t rounds, double seconds) {
  const auto violations = sum(targets, &Reached::violations);
  std::string text = fmt::format(
      "## Against an adversary that knows the code\n\n"
      "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s.\n\n"
      "**{} records**, {} of them sparse, **{} violations**, in {} rounds on each target. Heads "
      "whose bounds are far above the truth, whose blocks are wide, and whose numbers lie at the "
      "ends of ranges are drawn; from the one that came nearest to a violation of a way's claim a "
      "search goes on, which keeps every change that comes nearer. The truth is an f64 oracle's, "
      "less what that may be off by.\n\n"
      "True / certified at the nearest, for τ (as odds: near 1 every share is close to every "
      "other) · the error · the log-sum-exp. Near 1 a bound is tight; above 1 it would be "
      "false.\n\n",
      options.command, options.seed, version(), processor(), options.threads,
      std::chrono::system_clock::now(), seconds, sum(targets, &Reached::records),
      sum(targets, &Reached::sparse), violations, rounds);
  text += "| budget, mode | records | sparse | violations |";
  for (const OnTarget& target : targets) text += fmt::format(" {} |", target.name);
  text += "\n|";
  for (std::size_t column = 0; column < 4 + targets.size(); ++column) text += " --- |";
  text += "\n";
  for (std::size_t w = 0; w < targets[0].reached.size(); ++w) {
    Reached all;
    for (const OnTarget& target : targets) all.add(target.reached[w]);
    text += fmt::format("| {} | {} | {} | {} |", targets[0].reached[w].way, all.records, all.sparse,
                        all.violations);
    for (const OnTarget& target : targets) text += fmt::format(" {} |", nearest(target.reached[w]));
    text += "\n";
  }
  if (violations > 0) text += "\n### Violations\n";
  for (const OnTarget& target : targets)
    for (const Reached& reached : target.reached)
      if (reached.violations > 0)
        text += fmt::format("- {} on {}, {}\n", reached.way, target.name, reached.violation);
  return text;
}

}  // namespace

bool check_adversary(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = core::hardware_thread_count();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Way> ways = ways_of_planes();
  std::vector<OnTarget> targets = all_runnable();
  const std::int64_t wanted = std::max<std::int64_t>(1, options.records / 10);
  std::int64_t rounds = 0;
  do {
    for (OnTarget& target : targets) {
      if (options.target != "all" && options.target != target.name) continue;
      // Every round and target has its own seed, so that each tries different heads.
      const auto number = static_cast<std::uint64_t>(rounds) * targets.size() +
                          static_cast<std::uint64_t>(&target - targets.data());
      const std::vector<Reached> more =
          attack(ways,
                 {options.drawn, options.steps, options.seed * 0x9e3779b97f4a7c15U + number,
                  options.threads},
                 *target.kernels);
      target.reached.resize(ways.size());
      for (std::size_t w = 0; w < ways.size(); ++w) {
        target.reached[w].way = ways[w].name;
        if (target.reached[w].violations == 0 && more[w].violations > 0)
          fmt::print(stderr, "VIOLATED: {} on {}, round {}: {}\n", ways[w].name, target.name,
                     rounds, more[w].violation);
        target.reached[w].add(more[w]);
      }
    }
    ++rounds;
  } while (sum(targets, &Reached::sparse) < wanted);
  std::erase_if(targets, [](const OnTarget& target) { return target.reached.empty(); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  publish(report(targets, options, rounds, seconds.count()), options);
  return sum(targets, &Reached::violations) == 0;
}

}  // namespace tamis::test
