// Compares two profiles head by head. Both must be of the same model, with the same heads and eps.
#include <algorithm>
#include <cmath>
#include <map>

#include <tamis/lab/profile.h>
#include <tamis/text.h>

#include "core/fail.h"

namespace tamis::lab {
namespace {

using Heads = std::map<std::pair<std::int64_t, std::int64_t>, const HeadProfile*>;

Heads heads_of(const Profile& profile) {
  Heads heads;
  for (const HeadProfile& head : profile.heads) heads[{head.layer, head.head}] = &head;
  return heads;
}

/// Checks what all heads have in common: the first eps and the model.
void check_kind(const std::string& model, double eps, const Profile& other) {
  const std::vector<double>& theirs = other.options.rows.eps;
  if (theirs.empty() || theirs.front() != eps)
    core::fail(Code::usage,
               "the profiles differ in their first eps, {} and {}; make both with the same", eps,
               theirs.empty() ? std::nan("") : theirs.front());
  if (!model.empty() && !other.model.empty() && model != other.model)
    core::fail(Code::usage,
               "the profiles are of two models, {} and {}; only heads of the same can be compared",
               printable(model), printable(other.model));
}

const HeadProfile& like(const Heads& heads, std::int64_t layer, std::int64_t head,
                        const Profile& other) {
  const auto found = heads.find({layer, head});
  if (found == heads.end())
    core::fail(Code::usage,
               "the other profile, of {}, has no head {} of layer {}; only profiles of the same "
               "model's heads can be compared",
               other.trace.empty() ? "another trace" : printable(other.trace), head, layer);
  return *found->second;
}

}  // namespace

void check_comparable(const Trace& trace, const ProfileOptions& options, const Profile& other) {
  if (options.rows.eps.empty())
    core::fail(Code::usage, "no eps was given; a profile needs at least one");
  const auto model = trace.metadata().find("model");
  check_kind(model == trace.metadata().end() ? "" : model->second, options.rows.eps.front(), other);
  const Heads heads = heads_of(other);
  for (const TraceLayer& layer : trace.layers()) {
    if (!options.layers.empty() &&
        std::ranges::find(options.layers, layer.layer) == options.layers.end())
      continue;
    for (std::int64_t head = 0; head < layer.shape.query_heads; ++head)
      (void)like(heads, layer.layer, head, other);
  }
}

std::vector<HeadDifference> compare_profiles(const Profile& a, const Profile& b) {
  check_kind(a.model, a.options.rows.eps.front(), b);
  const Heads others = heads_of(b);
  std::vector<HeadDifference> differences;
  for (const HeadProfile& head : a.heads) {
    const HeadProfile& twin = like(others, head.layer, head.head, b);
    const KEpsProfile& mine = head.by_eps.front();
    const KEpsProfile& other = twin.by_eps.front();
    HeadDifference difference;
    difference.a = &head;
    difference.b = &twin;
    difference.k_ratio = other.k_eps.median / mine.k_eps.median;
    difference.law_differs = mine.law.law != other.law.law;
    difference.exponents_apart =
        mine.law.C_low > other.law.C_high || other.law.C_low > mine.law.C_high;  // false for NaN
    differences.push_back(difference);
  }
  return differences;
}

}  // namespace tamis::lab
