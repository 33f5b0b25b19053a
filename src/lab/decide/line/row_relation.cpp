#include "lab/decide/line/row_relation.h"

#include "core/fail.h"

namespace tamis::lab::decision {
namespace {

Relation relation_from(const Meeting& meeting, std::int64_t a, std::int64_t b, bool same) {
  if (same ? !meeting.same() : !meeting.opposite())
    core::fail(Code::internal, "rows {} and {} of the pattern are not {}", a, b,
               same ? "the same" : "opposite");
  return same ? Relation{a, b, true, meeting.both, meeting.neither}
              : Relation{a, b, false, meeting.only_a, meeting.only_b};
}

}  // namespace

Meeting meeting_of(const Pattern& pattern, std::int64_t a, std::int64_t b) {
  const auto of_a = pattern.columns_of(a);
  const auto of_b = pattern.columns_of(b);
  auto next_a = of_a.begin();
  auto next_b = of_b.begin();
  Meeting meeting;
  const auto keep_first = [](std::int64_t& place, std::int64_t column) {
    if (place < 0) place = column;
  };
  for (std::int64_t column = 0; column < pattern.cols && !(meeting.same() && meeting.opposite());
       ++column) {
    const bool in_a = next_a != of_a.end() && *next_a == column;
    const bool in_b = next_b != of_b.end() && *next_b == column;
    if (in_a) ++next_a;
    if (in_b) ++next_b;
    keep_first(
        in_a ? (in_b ? meeting.both : meeting.only_a) : (in_b ? meeting.only_b : meeting.neither),
        column);
  }
  return meeting;
}

Relation relation_of(const Pattern& pattern, std::int64_t a, std::int64_t b, bool same) {
  return relation_from(meeting_of(pattern, a, b), a, b, same);
}

Relation relation_of(const Pattern& pattern, std::int64_t a, std::int64_t b) {
  const Meeting meeting = meeting_of(pattern, a, b);
  return relation_from(meeting, a, b, meeting.same());
}

}  // namespace tamis::lab::decision
