// The members of a profile file, described once for both writing and reading: fields(archive,
// value) passes every member of `value` to the archive, in the order of the file. docs/profile.md
// says what they mean.
#pragma once

#include <tamis/lab/profile.h>
#include "lab/io/json_fields.h"
#include "lab/profile/laws.h"

// These overloads are found by argument-dependent lookup, hence in the namespace of their type.
namespace tamis {

inline std::string json_word(const Budget& budget) { return to_string(budget); }
inline void from_json_word(const std::string& text, Budget& budget) { budget = parse_budget(text); }

}  // namespace tamis

namespace tamis::lab {

inline std::string json_word(const Law& law) { return std::string(name_of(law)); }
inline void from_json_word(const std::string& name, Law& law) {
  law = Law::none;
  for (const profiling::LawEntry& entry : profiling::law_table)
    if (name_of(entry.law) == name) law = entry.law;
  if (name_of(law) != name) core::fail(Code::input, "there is no such law");
}

template <class A>
void fields(A& a, Quantiles& q) {
  a("p10", q.p10);
  a("median", q.median);
  a("p90", q.p90);
}

template <class A>
void fields(A& a, LawScore& score) {
  a("law", score.law);
  a("alpha", score.alpha);
  a("residual_sd", score.residual_sd);
  a("log_evidence", score.log_evidence);
  a("probability", score.probability);
}

/// A law's members are written among those of its head and eps, not in an object of their own.
template <class A>
void fields(A& a, LawFit& fit) {
  a("law", fit.law);
  a("alpha", fit.alpha);
  a("C", fit.C);
  a("C_low", fit.C_low);
  a("C_high", fit.C_high);
  a("reason", fit.reason);
  a("best_law", fit.best);
  a("residual_sd", fit.residual_sd);
  a("lack_of_fit", fit.lack_of_fit);
  a("p_value", fit.p_value);
  a("autocorrelation", fit.autocorrelation);
  a("effective_rows", fit.effective_rows);
  a("block", fit.block);
  a("law_rows", fit.rows);
  a("n_low", fit.n_low);
  a("n_high", fit.n_high);
  a("k_median", fit.k_median);
  a("law_sigma", fit.sigma);
  a("scores", fit.scores);
}

template <class A>
void fields(A& a, Coverage& coverage) {
  a("rows", coverage.rows);
  a("covered", coverage.covered);
  a("rate", coverage.rate);
  a("low", coverage.low);
  a("high", coverage.high);
}

template <class A>
void fields(A& a, Conformal& rule) {
  a("alpha", rule.alpha);
  a("C", rule.C);
  a("window", rule.window);
  a("sinks", rule.sinks);
  a("rows", rule.rows);
  a("rank", rule.rank);
  a("mean_keys", rule.mean_keys);
  a("held_out", rule.held_out);
}

template <class A>
void fields(A& a, RuleCost& cost) {
  a("mean_keys", cost.mean_keys);
  a("held_out", cost.held_out);
}

template <class A>
void fields(A& a, LengthBin& bin) {
  a("n_low", bin.n_low);
  a("n_high", bin.n_high);
  a("rows", bin.rows);
  a("power", bin.power);
  a("topk", bin.topk);
  a("window", bin.window);
}

template <class A>
void fields(A& a, RuleTable& rules) {
  a("power", rules.power);
  a("topk", rules.topk);
  a("window", rules.window);
  a("bins", rules.bins);
}

template <class A>
void fields(A& a, GrowthBin& bin) {
  a("n_low", bin.n_low);
  a("n_high", bin.n_high);
  a("rows", bin.rows);
  a("n", bin.n);
  a("k_eps", bin.k_eps);
  a("law", bin.law);
  a("null", bin.null);
}

template <class A>
void fields(A& a, NormPrediction& prediction) {
  a("R", prediction.R);
  a("k_eps", prediction.k_eps);
  a("C", prediction.exponent);
}

template <class A>
void fields(A& a, WeightNorm& norm) {
  a("norm", norm.norm);
  a("low", norm.low);
  a("high", norm.high);
  io::SignedWhole low{norm.low_offset};
  io::SignedWhole high{norm.high_offset};
  a("low_offset", low);
  a("high_offset", high);
  norm.low_offset = low.value;
  norm.high_offset = high.value;
}

template <class A>
void fields(A& a, KEpsProfile& of_eps) {
  a("eps", of_eps.eps);
  a("k_eps", of_eps.k_eps);
  a("share", of_eps.share);
  a("null", of_eps.null);
  fields(a, of_eps.law);
  a("rules", of_eps.rules);
  a("growth", of_eps.growth);
  a("predicted", of_eps.predicted);
}

/// The first eps is written among the head's own members, where readers of a single eps
/// look for it.
template <class A>
void fields(A& a, HeadProfile& head) {
  a("layer", head.layer);
  a("head", head.head);
  a("rows", head.rows);
  a("budget", head.budget);
  if (head.by_eps.empty()) head.by_eps.emplace_back();
  fields(a, head.by_eps.front());
  a("n", head.n);
  a("top1", head.top1);
  a("entropy", head.entropy);
  a("effective_support", head.effective_support);
  a("sink", head.sink);
  a("window", head.window);
  a("mean", head.mean);
  a("sigma", head.sigma);
  a("norm", head.norm);
  a("R", head.R);
  std::vector<KEpsProfile> others(head.by_eps.begin() + 1, head.by_eps.end());
  a("other_eps", others);
  head.by_eps.resize(1);
  head.by_eps.insert(head.by_eps.end(), others.begin(), others.end());
}

template <class A>
void fields(A& a, CollapseBin& bin) {
  a("n_low", bin.n_low);
  a("n_high", bin.n_high);
  a("rows", bin.rows);
  a("n", bin.n);
  a("top1", bin.top1);
  a("effective_support", bin.effective_support);
  a("sink", bin.sink);
}

template <class A>
void fields(A& a, LayerProfile& layer) {
  a("layer", layer.layer);
  a("input_bound", layer.input_bound);
  a("collapse", layer.collapse);
}

template <class A>
void fields(A& a, Profile& profile) {
  a("trace", profile.trace);
  a("model", profile.model);
  a("tokens", profile.tokens);
  a("queries", profile.queries);
  a("causal", profile.causal);
  ProfileOptions& options = profile.options;
  a("eps", options.rows.eps);
  a("delta", options.delta);
  a("sinks", options.rows.sinks);
  a("windows", options.rows.windows);
  a("bins", options.bins);
  a("confidence", options.law.confidence);
  a("significance", options.law.significance);
  a("material", options.law.material);
  a("resamples", options.law.resamples);
  a("seed", options.law.seed);
  a("layers", profile.layers);
  a("heads", profile.heads);
}

}  // namespace tamis::lab
