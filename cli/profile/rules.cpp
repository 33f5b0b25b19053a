// Tables that compare the adaptive rule with fixed rules, and layers over lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profile/report.h"
#include "profile/spark.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using Row = std::vector<std::string>;

/// The held-out rows of all heads taken together.
struct Pool {
  double n_low = INFINITY;
  double n_high = 0;
  std::int64_t rows = 0;
  double keys[3] = {};
  std::int64_t covered[3] = {};

  void add(const lab::LengthBin& bin) {
    n_low = std::min(n_low, bin.n_low);
    n_high = std::max(n_high, bin.n_high);
    rows += bin.rows;
    const lab::RuleCost* costs[] = {&bin.power, &bin.topk, &bin.window};
    for (int i = 0; i < 3; ++i) {
      keys[i] += costs[i]->mean_keys * static_cast<double>(bin.rows);
      covered[i] += costs[i]->held_out.covered;
    }
  }
  void add(const Pool& pool) {
    n_low = std::min(n_low, pool.n_low);
    n_high = std::max(n_high, pool.n_high);
    rows += pool.rows;
    for (int i = 0; i < 3; ++i) {
      keys[i] += pool.keys[i];
      covered[i] += pool.covered[i];
    }
  }
  [[nodiscard]] Row line(const std::string& name) const {
    Row row{name, std::to_string(rows)};
    for (int i = 0; i < 3; ++i) {
      row.push_back(fmt::format("{:.0f}", keys[i] / static_cast<double>(rows)));
      row.push_back(percent(static_cast<double>(covered[i]) / static_cast<double>(rows)));
    }
    return row;
  }
};

std::string range_text(double low, double high) { return fmt::format("{:.0f}…{:.0f}", low, high); }

std::string table_of(const lab::Profile& profile, std::size_t e) {
  std::vector<Pool> pools;
  int without = 0;
  for (const lab::HeadProfile& head : profile.heads) {
    const lab::RuleTable& rules = head.by_eps[e].rules;
    if (!rules.power.finite()) {
      ++without;
      continue;
    }
    if (pools.size() < rules.bins.size()) pools.resize(rules.bins.size());
    for (std::size_t b = 0; b < rules.bins.size(); ++b)
      if (rules.bins[b].rows > 0) pools[b].add(rules.bins[b]);
  }
  const double eps = profile.options.rows.eps[e];
  std::string text;
  if (without > 0)
    text += fmt::format(
        "{} heads have too few rows to calibrate a rule for delta {}: it takes at least {:.0f} "
        "rows for calibration, a third of all.\n",
        without, profile.options.delta, std::ceil(1 / profile.options.delta - 1));
  std::erase_if(pools, [](const Pool& pool) { return pool.rows == 0; });
  if (pools.empty()) return text;
  std::vector<Row> rows{{"n", "rows", "alpha*n^C", "kept", "top-k", "kept", "window", "kept"}};
  Pool all;
  for (const Pool& pool : pools) {
    rows.push_back(pool.line(range_text(pool.n_low, pool.n_high)));
    all.add(pool);
  }
  rows.push_back(all.line("all"));
  return text +
         fmt::format(
             "Keys read per row to keep mass {} on {} of rows, held-out rows of all heads\n{}",
             percent(1 - eps), percent(1 - profile.options.delta), table_text(rows));
}

/// Returns the first and the last median with a sparkline of all medians between them.
std::string course(const std::vector<double>& medians) {
  return fmt::format("{} {} {}", mass(medians.front()), sparkline(medians, false),
                     mass(medians.back()));
}
std::string log_course(const std::vector<double>& medians) {
  return fmt::format("{} {} {}", number(medians.front()), sparkline(medians, true),
                     number(medians.back()));
}

/// Returns "B²·low…B²·high", where B is the input bound of the head's layer.
std::string range_of_R(const lab::Profile& profile, const lab::HeadProfile& head) {
  const auto layer = std::ranges::find(profile.layers, head.layer, &lab::LayerProfile::layer);
  if (layer == profile.layers.end() || !layer->input_bound) return "-";
  const double square = *layer->input_bound * *layer->input_bound;
  return fmt::format("{}…{}", number(square * head.norm->low), number(square * head.norm->high));
}

}  // namespace

std::string rules_table(const lab::Profile& profile) {
  std::string text;
  for (std::size_t e = 0; e < profile.options.rows.eps.size(); ++e) {
    if (const std::string table = table_of(profile, e); !table.empty()) text += table + "\n";
  }
  return text;
}

std::string collapse_table(const lab::Profile& profile) {
  const std::int64_t sinks = profile.options.rows.sinks;
  std::vector<Row> rows{
      {"layer", "n", "top-1 mass", "e^H",
       sinks == 1 ? "first-token mass" : fmt::format("mass of the first {}", sinks)}};
  for (const lab::LayerProfile& layer : profile.layers) {
    if (layer.collapse.empty()) continue;
    std::vector<double> top1, support, sink;
    for (const lab::CollapseBin& bin : layer.collapse) {
      top1.push_back(bin.top1.median);
      support.push_back(bin.effective_support.median);
      sink.push_back(bin.sink.median);
    }
    rows.push_back({std::to_string(layer.layer),
                    range_text(layer.collapse.front().n, layer.collapse.back().n), course(top1),
                    log_course(support), course(sink)});
  }
  return "Collapse: medians over the rows of a layer, from short to long contexts\n" +
         table_text(rows);
}

std::string norm_table(const lab::Profile& profile) {
  std::vector<Row> rows{{"layer", "head", "|W|_F", "over offsets", "R", "over offsets",
                         "k predicted", "k", "C predicted", "C"}};
  for (const lab::HeadProfile& head : profile.heads) {
    if (!head.norm) continue;
    const lab::KEpsProfile& of_eps = head.by_eps.front();
    Row row{std::to_string(head.layer),
            std::to_string(head.head),
            number(head.norm->norm),
            fmt::format("{}…{}", number(head.norm->low), number(head.norm->high)),
            head.R ? number(*head.R) : "-",
            range_of_R(profile, head)};
    row.push_back(of_eps.predicted ? number(of_eps.predicted->k_eps) : "-");
    row.push_back(number(of_eps.k_eps.median));
    row.push_back(of_eps.predicted ? number(of_eps.predicted->exponent) : "-");
    row.push_back(number(of_eps.law.C));
    rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return {};
  return "R = B²·|W|_F at offset 0 and over all, what it predicts at the median n, and what was "
         "measured\n" +
         table_text(rows) + "\n";
}

}  // namespace tamis::cli
