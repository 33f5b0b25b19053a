// The report of the `norm` sweep: does R determine how many keys a row needs, and is C inside (0,
// 1) where the theory says so?
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <tamis/lab/norms.h>

#include "lab/experiments/norm/norm.h"
#include "lab/experiments/replicates.h"
#include "lab/experiments/synthetic_figures.h"
#include "lab/experiments/trace_points.h"
#include "lab/stats/quantiles.h"
#include "lab/stats/series.h"

namespace tamis::lab::experiments {
namespace {

std::optional<double> maybe(const Json& x) {
  return x.is_null() ? std::nullopt : std::optional<double>(x.get<double>());
}

std::vector<NormSetting> settings_of(const std::vector<DonePoint>& done) {
  std::vector<NormSetting> all;
  for (const auto& [p, result] : done) {
    if (p.at("part") != "synthetic") continue;
    const Regime regime = Regime::read(p);
    auto at = std::ranges::find(all, regime, &NormSetting::regime);
    if (at == all.end()) {
      all.push_back({.regime = regime});
      at = all.end() - 1;
    }
    const double n = p.at("n");
    const auto k = result.at("k").get<std::vector<double>>();
    double log_k = 0;
    for (const double x : k) log_k += std::log(x) / static_cast<double>(k.size());
    at->growth.add(p.at("replicate"), n, log_k);
    at->k[n].push_back(stats::median(k));
    at->log_k[n].push_back(log_k);
    at->spread[n].push_back(result.at("spread"));
  }
  return all;
}

std::vector<NormHead> heads_of(const std::vector<DonePoint>& done) {
  std::vector<NormHead> all;
  for (const auto& [p, result] : done) {
    if (p.at("part") != "trace") continue;
    for (const Json& h : result.at("heads")) {
      if (h.at("rows") == 0) continue;
      NormHead head{.name = fmt::format("layer {} head {}", p.at("layer").get<int>(),
                                        h.at("head").get<int>())};
      head.R = maybe(h.at("R"));
      head.spread = h.at("spread");
      head.n = h.at("n");
      head.k = h.at("k").get<std::array<double, 3>>();
      head.share = h.at("share");
      head.null = h.at("null");
      head.predicted = maybe(h.at("predicted"));
      head.predicted_C = maybe(h.at("predicted_C"));
      if (!h.at("C").at(1).is_null())
        head.C = stats::Estimate{h.at("C").at(0), h.at("C").at(1), h.at("C").at(2), true};
      all.push_back(std::move(head));
    }
  }
  return all;
}

NormFound found_of(const NormSetting& setting, const GaussianNull& null, double d) {
  NormFound found;
  std::vector<double> log_n;
  std::vector<double> log_k;
  for (const auto& [n, k] : setting.k) {
    const RowTheory theory = row_theory(null, n, setting.regime.at(n), d);
    log_n.push_back(std::log(n));
    log_k.push_back(theory.mean);
    const double miss = stats::mean_of(setting.log_k.at(n)) - theory.mean;
    found.factor = std::max(found.factor, std::exp(std::abs(miss)));
  }
  found.n = setting.k.rbegin()->first;
  found.R = setting.regime.at(found.n);
  found.k = stats::median(setting.k.at(found.n));
  found.null = std::exp(log_k.back());
  const NormPrediction bound = predict_from_norm(1, found.R, found.n, null.eps());
  found.bound = bound.k_eps;
  found.C_bound = bound.exponent;
  found.C = setting.growth.exponent();
  if (log_n.size() > 1) found.C_null = stats::least_squares(log_n, log_k).slope;
  return found;
}

std::string plain(const std::optional<double>& x) { return x ? fmt::format("{:.2f}", *x) : "–"; }
std::string rounded(const std::optional<double>& x) { return x ? stats::short_number(*x) : "–"; }

/// The range of the values as "a to b", or a single number if all are equal.
std::string range_text(std::vector<double> values) {
  const auto [low, high] = std::ranges::minmax(values);
  return low == high ? fmt::format("{:.2f}", low) : fmt::format("{:.2f} to {:.2f}", low, high);
}

std::string synthetic_sentence(const std::vector<NormSetting>& settings,
                               const std::vector<NormFound>& found) {
  std::int64_t inside = 0;
  std::int64_t nearly_all = 0;  // cases where n^C saves almost nothing
  std::size_t untold = 0;
  std::vector<double> root;
  std::vector<double> fixed;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool grows = settings[i].regime.rise == Rise::root;
    if (!stats::is_known(found[i].C)) {
      untold += grows ? 1U : 0U;
      continue;
    }
    (grows ? root : fixed).push_back(found[i].C->value);
    if (!grows || !found[i].C->above(0) || !found[i].C->below(1)) continue;
    ++inside;
    nearly_all += found[i].C->value > 0.95 ? 1 : 0;
  }
  if (root.empty())
    return "Whether k_eps grows as n^C with C inside (0, 1) where R grows as √log n cannot be told "
           "yet: that takes two lengths and two replicates.";
  return fmt::format(
      "That k_eps grows as n^C with C inside (0, 1) while R = O(√log n) {} on synthetic heads: C "
      "was {} where R grew as √log n, inside (0, 1) by its 95 % interval in {} of {} settings, in "
      "{} of these above 0.95{}{}.",
      stats::verdict(inside, std::ssize(root)), range_text(root), inside, root.size(), nearly_all,
      untold == 0 ? ""
                  : fmt::format(" ({} more have too few replicates or lengths to tell)", untold),
      fixed.empty() ? "" : fmt::format(", and {} where R was fixed", range_text(fixed)));
}

/// A clause on the errors of two predictions: Gaussian rows of the same R, and the theory's bound.
std::string prediction_clause(const std::vector<NormFound>& found) {
  if (found.empty()) return "no synthetic setting is done";
  double null = 1;
  double bound = 1;
  for (const NormFound& each : found) {
    null = std::max(null, each.factor);
    bound = std::max(bound, std::max(each.k / each.bound, each.bound / each.k));
  }
  return fmt::format(
      "Gaussian rows of spread R/3 gave k_eps within a factor of {} in all {} synthetic settings, "
      "the bound σ ≤ R taken for the spread only within {}",
      stats::short_number(null), found.size(), stats::short_number(bound));
}

std::string trace_clause(const std::vector<NormHead>& heads, const std::string& trace) {
  const bool by_R =
      std::ranges::any_of(heads, [](const NormHead& head) { return head.R.has_value(); });
  std::vector<double> x;
  std::vector<double> share;
  std::vector<double> off;
  std::vector<double> x_of_C;
  std::vector<double> C;
  for (const NormHead& head : heads) {
    if (by_R && !head.R) continue;
    x.push_back(by_R ? *head.R : head.spread);
    share.push_back(head.share);
    if (const std::optional<double> k = by_R ? head.predicted : head.null)
      off.push_back(std::max(head.k[1] / *k, *k / head.k[1]));
    if (!head.C) continue;
    x_of_C.push_back(x.back());
    C.push_back(head.C->value);
  }
  const stats::Estimate r = stats::rank_correlation(x, share);
  const char* order = !r.known     ? "too few heads to judge"
                      : r.below(0) ? "heads of larger norm were sparser"
                      : r.above(0) ? "heads of larger norm were denser"
                                   : "no order of the heads is certain";
  return fmt::format(
      "in {} {} had rank correlation {} with k_eps/n ({}) and {} with C over {} heads, and {}",
      trace, by_R ? "R" : "the spread of the logits, for want of weights and their bound,",
      r.text(), order, C.empty() ? "none" : stats::rank_correlation(x_of_C, C).text(), x.size(),
      off.empty() ? "it predicts nothing here"
                  : fmt::format("what it predicts missed k_eps by a factor of {} in the median",
                                stats::short_number(stats::median(off))));
}

}  // namespace

SweepReport norm_report(const GridRequest& request, const std::vector<DonePoint>& done) {
  const GaussianNull null(request.value("eps"));
  const double d = request.value("d");
  const std::vector<NormSetting> settings = settings_of(done);
  const std::vector<NormHead> heads = heads_of(done);
  std::vector<NormFound> found;
  SweepReport report;
  report.table.push_back({"rows", "R", "spread", "n", "k_eps (p10–p90)", "k Gaussian", "k from R",
                          "C [95 %]", "C Gaussian", "C from R"});
  for (const NormSetting& s : settings) {
    const NormFound& f = found.emplace_back(found_of(s, null, d));
    report.table.push_back({std::string(named(s.regime.rise).words), stats::short_number(f.R),
                            stats::short_number(stats::median(s.spread.at(f.n))),
                            stats::short_number(f.n), stats::spread_text(s.k.at(f.n)),
                            stats::short_number(f.null), stats::short_number(f.bound),
                            stats::text_of(f.C), plain(f.C_null), plain(f.C_bound)});
  }
  for (const NormHead& h : heads)
    report.table.push_back({h.name, rounded(h.R), stats::short_number(h.spread),
                            stats::short_number(h.n),
                            fmt::format("{} ({}–{})", stats::short_number(h.k[1]),
                                        stats::short_number(h.k[0]), stats::short_number(h.k[2])),
                            stats::short_number(h.null), rounded(h.predicted), stats::text_of(h.C),
                            "–", plain(h.predicted_C)});

  report.sentences.push_back(synthetic_sentence(settings, found));
  std::string second = prediction_clause(found);
  if (!heads.empty()) second += "; " + trace_clause(heads, trace_name(request));
  second[0] = static_cast<char>(std::toupper(second[0]));
  report.sentences.push_back(second + ".");

  report.vega = norm_chart(settings, found, heads, null, d);
  return report;
}

}  // namespace tamis::lab::experiments
