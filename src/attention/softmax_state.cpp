// Merges softmax states and turns them into outputs and log-sum-exps. O(rows·d_v).
#include "attention/softmax_state.h"

#include <cmath>
#include <limits>

#include <tamis/attention.h>

#include "attention/check.h"
#include "core/fail.h"

namespace tamis {

void attention::merge_row(float& m, float& l, std::span<float> o, float m2, float l2,
                          std::span<const float> o2) {
  // A state without keys. One whose logits were not finite may have m = −inf too, but its l is NaN.
  if (m2 == -std::numeric_limits<float>::infinity() && l2 == 0.0F) return;
  const float top = m2 > m ? m2 : m;
  const float a = std::exp2(m - top);  // 0 where this state has no keys yet
  const float b = std::exp2(m2 - top);
  m = top;
  l = l * a + l2 * b;
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = o[c] * a + o2[c] * b;
}

float attention::finish_row(float m, float l, std::span<const float> o, std::span<float> out) {
  if (m == -std::numeric_limits<float>::infinity() && l == 0.0F) {
    for (float& x : out) x = 0.0F;
    return m;
  }
  float finite = 0.0F;  // 0·x is NaN unless x is finite
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c] = o[c] / l;
    finite += 0.0F * out[c];
  }
  const auto lse = static_cast<float>(static_cast<double>(m) * 0.6931471805599453 +
                                      std::log(static_cast<double>(l)));
  return std::isfinite(lse) && finite == 0.0F ? lse : std::numeric_limits<float>::quiet_NaN();
}

void merge(const SoftmaxStates& into, const SoftmaxStates& from) {
  if (into.m.size() != from.m.size() || into.o.rows != from.o.rows || into.o.cols != from.o.cols ||
      into.l.size() != into.m.size() || from.l.size() != from.m.size() ||
      into.o.rows != static_cast<std::int64_t>(into.m.size()))
    core::fail(Code::usage,
               "states of {} rows of {} and of {} rows of {} cannot be merged: they must agree",
               into.m.size(), into.o.cols, from.m.size(), from.o.cols);
  attention::check_not_null("o of the states", into.o);
  attention::check_not_null("o of the states", from.o);
  for (std::size_t r = 0; r < into.m.size(); ++r)
    attention::merge_row(into.m[r], into.l[r], into.o.row(static_cast<std::int64_t>(r)), from.m[r],
                         from.l[r], from.o.row(static_cast<std::int64_t>(r)));
}

void finish(const SoftmaxStates& states, View<float> out, std::span<float> lse) {
  if (states.l.size() != states.m.size() || lse.size() != states.m.size() ||
      states.o.rows != static_cast<std::int64_t>(states.m.size()) || out.rows != states.o.rows ||
      out.cols != states.o.cols)
    core::fail(Code::usage,
               "an output of {} × {} and {} log-sum-exps were given for states of {} rows of {}",
               out.rows, out.cols, lse.size(), states.m.size(), states.o.cols);
  attention::check_not_null("o of the states", states.o);
  attention::check_not_null("the output", out);
  for (std::size_t r = 0; r < states.m.size(); ++r) {
    const auto i = static_cast<std::int64_t>(r);
    lse[r] = attention::finish_row(states.m[r], states.l[r], states.o.row(i), out.row(i));
    if (std::isnan(lse[r]))
      core::fail(Code::input,
                 "row {} of the result is not finite: its queries, keys or values hold NaN or "
                 "infinity, or their products leave the range of f32",
                 r);
  }
}

}  // namespace tamis
