#include "support/lab/relations.h"

#include <algorithm>

namespace tamis::test {
namespace {

struct Rows {
  const lab::Pattern& pattern;

  [[nodiscard]] bool has(std::int64_t row, std::int64_t column) const {
    const auto columns = pattern.columns_of(row);
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }
  [[nodiscard]] bool inside(const lab::Relation& r) const {
    return std::min(r.a, r.b) >= 0 && std::max(r.a, r.b) < pattern.rows &&
           std::min(r.first, r.second) >= 0 && std::max(r.first, r.second) < pattern.cols;
  }
  [[nodiscard]] bool shows(const lab::Relation& r) const {
    if (!inside(r)) return false;
    return r.same ? has(r.a, r.first) && has(r.b, r.first) && !has(r.a, r.second) &&
                        !has(r.b, r.second)
                  : has(r.a, r.first) && !has(r.b, r.first) && has(r.b, r.second) &&
                        !has(r.a, r.second);
  }
  [[nodiscard]] bool shows(const lab::SignOfC& s, bool plus) const {
    return shows(s.apart) && !s.apart.same && shows(s.turn) && s.turn.a == s.t &&
           s.turn.b == s.apart.a && has(s.t, s.apart.a) && !has(s.t, s.apart.b) &&
           s.turn.same == plus;
  }
};

}  // namespace

std::string flaw_of(const lab::Pattern& pattern, const lab::Refutation& refutation) {
  if (const lab::RefutationCheck check = lab::check_refutation(pattern, refutation); !check.holds)
    return check.why;
  const Rows rows{pattern};
  if (refutation.dim != 1) return "it is not about dimension 1";
  if (const auto* circle = std::get_if<lab::OddCircle>(&refutation.grounds)) {
    if (refutation.hidden) return "a circle does not depend on the hidden size";
    const auto& relations = circle->relations;
    if (relations.empty()) return "the circle is empty";
    std::size_t opposite = 0;
    for (std::size_t r = 0; r < relations.size(); ++r) {
      if (!rows.shows(relations[r])) return "a relation is not shown by its columns";
      if (relations[r].b != relations[(r + 1) % relations.size()].a)
        return "the circle is not closed";
      if (!relations[r].same) ++opposite;
    }
    return opposite % 2 == 1 ? "" : "an even number of relations is opposite";
  }
  if (const auto* conflict = std::get_if<lab::SignConflict>(&refutation.grounds)) {
    if (refutation.hidden != 1 || pattern.rows != pattern.cols)
      return "it is not about hidden size 1";
    if (!rows.shows(conflict->plus, true)) return "c > 0 does not follow";
    return rows.shows(conflict->minus, false) ? "" : "c < 0 does not follow";
  }
  return "it has other grounds";
}

}  // namespace tamis::test
