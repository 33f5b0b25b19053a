// Two profiles head by head: the same heads, the same eps.
#include <cmath>
#include <map>

#include <tamis/profile.h>

#include "core/fail.h"

namespace tamis {

std::vector<HeadDifference> compare_profiles(const Profile& a, const Profile& b) {
  const double eps = a.options.rows.eps.front();
  if (b.options.rows.eps.empty() || b.options.rows.eps.front() != eps)
    fail(Code::usage, "the profiles differ in their first eps, {} and {}; make both with the same", eps,
         b.options.rows.eps.empty() ? std::nan("") : b.options.rows.eps.front());
  std::map<std::pair<std::int64_t, std::int64_t>, const HeadProfile*> others;
  for (const HeadProfile& head : b.heads) others[{head.layer, head.head}] = &head;
  std::vector<HeadDifference> differences;
  for (const HeadProfile& head : a.heads) {
    const auto found = others.find({head.layer, head.head});
    if (found == others.end())
      fail(Code::usage,
           "the other profile, of {}, has no head {} of layer {}; only profiles of the same model's heads "
           "can be compared",
           b.trace.empty() ? "another trace" : b.trace, head.head, head.layer);
    const SupportProfile& mine = head.by_eps.front();
    const SupportProfile& other = found->second->by_eps.front();
    HeadDifference difference;
    difference.a = &head;
    difference.b = found->second;
    difference.k_ratio = other.k_eps.median / mine.k_eps.median;
    difference.law_differs = mine.law.law != other.law.law;
    difference.exponents_apart =
        mine.law.C_low > other.law.C_high || other.law.C_low > mine.law.C_high;  // false for NaN
    differences.push_back(difference);
  }
  return differences;
}

}  // namespace tamis
