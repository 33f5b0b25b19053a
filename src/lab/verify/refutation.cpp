// Checks refutations from the pattern alone. docs/refutation.md proves that the checks suffice.
#include <tamis/lab/refutation.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lab/pattern/checks.h"
#include "lab/verify/order_proof.h"
#include "lab/verify/positive_definite.h"
#include "lab/verify/signs.h"

namespace tamis::lab {
namespace {

RefutationCheck yes() { return {true, ""}; }
template <class... Args>
RefutationCheck no(fmt::format_string<Args...> why, Args&&... args) {
  return {false, fmt::format(why, std::forward<Args>(args)...)};
}

/// Says what is wrong with the relation; empty if it is true of the pattern.
std::string fault_of(const verification::Signs& signs, const Relation& r) {
  if (!signs.has_row(r.a) || !signs.has_row(r.b) || !signs.has_column(r.first) ||
      !signs.has_column(r.second))
    return fmt::format("rows {} and {} or columns {} and {} are not in the pattern", r.a, r.b,
                       r.first, r.second);
  const bool right = r.same ? signs(r.a, r.first) && signs(r.b, r.first) && !signs(r.a, r.second) &&
                                  !signs(r.b, r.second)
                            : signs(r.a, r.first) && !signs(r.b, r.first) &&
                                  !signs(r.a, r.second) && signs(r.b, r.second);
  return right ? ""
               : fmt::format("columns {} and {} do not show that rows {} and {} are {}", r.first,
                             r.second, r.a, r.b, r.same ? "the same" : "opposite");
}

RefutationCheck check(const verification::Signs& signs, const Refutation& claim,
                      const OddCircle& circle) {
  const auto& relations = circle.relations;
  if (claim.dim != 1) return no("an odd circle refutes dimension 1, not {}", claim.dim);
  if (relations.empty()) return no("there are no relations");
  std::size_t opposite = 0;
  for (std::size_t i = 0; i < relations.size(); ++i) {
    if (const std::string fault = fault_of(signs, relations[i]); !fault.empty())
      return no("{}", fault);
    if (relations[i].b != relations[(i + 1) % relations.size()].a)
      return no("relation {} ends at row {} and the next does not begin there", i, relations[i].b);
    if (!relations[i].same) ++opposite;
  }
  return opposite % 2 == 1 ? yes()
                           : no("{} relations are opposite; the number must be odd", opposite);
}

std::string fault_of(const verification::Signs& signs, const SignOfC& claim, bool plus) {
  for (const Relation& relation : {claim.apart, claim.turn})
    if (std::string fault = fault_of(signs, relation); !fault.empty()) return fault;
  const std::int64_t a = claim.apart.a;
  const std::int64_t b = claim.apart.b;
  if (claim.apart.same) return fmt::format("rows {} and {} are not opposite", a, b);
  if (claim.turn.a != claim.t || claim.turn.b != a)
    return fmt::format("the turn is of rows {} and {}, not of {} and {}", claim.turn.a,
                       claim.turn.b, claim.t, a);
  if (!signs(claim.t, a) || signs(claim.t, b))
    return fmt::format("row {} does not tell column {} from column {}", claim.t, a, b);
  if (claim.turn.same != plus) return fmt::format("row {} gives c the other sign", claim.t);
  return "";
}

RefutationCheck check(const verification::Signs& signs, const Refutation& claim,
                      const SignConflict& conflict) {
  if (claim.dim != 1 || claim.hidden != 1)
    return no("a sign conflict refutes dimension 1 with hidden size 1 only");
  if (signs.rows() != signs.columns()) return no("the pattern is not square");
  for (const bool plus : {true, false})
    if (const std::string fault = fault_of(signs, plus ? conflict.plus : conflict.minus, plus);
        !fault.empty())
      return no("{}", fault);
  return yes();
}

RefutationCheck check(const verification::Signs& signs, const Refutation& claim,
                      const FullSet& set) {
  constexpr std::size_t most_elements = 40;
  const auto element = [&](std::int64_t i) {
    return set.of_columns ? signs.has_column(i) : signs.has_row_or_ones(i);
  };
  const auto cut = [&](std::int64_t i) {
    return set.of_columns ? signs.has_row_or_ones(i) : signs.has_column(i);
  };
  const auto sign = [&](std::int64_t e, std::int64_t c) {
    return set.of_columns ? signs(c, e) : signs(e, c);
  };
  const std::size_t count = set.elements.size();
  if (count < 2 || count > most_elements || set.cuts.size() != std::size_t{1} << (count - 1))
    return no("{} elements and {} cuts; 2^(c - 1) cuts are needed for c elements", count,
              set.cuts.size());
  if (!std::ranges::all_of(set.elements, element) || !std::ranges::all_of(set.cuts, cut))
    return no("an element or a cut is not in the pattern");
  for (std::size_t split = 0; split < set.cuts.size(); ++split)
    for (std::size_t e = 1; e < count; ++e)
      if ((sign(set.elements[e], set.cuts[split]) != sign(set.elements[0], set.cuts[split])) !=
          ((split >> (e - 1) & 1U) != 0))
        return no("cut {} does not make the split {}", set.cuts[split], split);
  if (claim.dim > static_cast<std::int64_t>(count) - 2)
    return no("{} elements refute dimension {}, not {}", count, count - 2, claim.dim);
  return yes();
}

/// Let G = M·diag(w)·Mᵀ, P = Σp, W = Σw and D = dim + 1. If the sign-rank were at most D, the
/// matrix P·W/D²·diag(1/p) − G would not be positive definite (docs/refutation.md).
RefutationCheck check(const verification::Signs& signs, const Refutation& claim,
                      const Spectral& spectral) {
  if (spectral.rows.empty() || spectral.columns.empty() ||
      spectral.rows.size() != spectral.row_weights.size() ||
      spectral.columns.size() != spectral.column_weights.size())
    return no("rows and columns need one weight each");
  const auto has_row = [&](std::int64_t i) { return signs.has_row_or_ones(i); };
  const auto has_column = [&](std::int64_t i) { return signs.has_column(i); };
  if (!std::ranges::all_of(spectral.rows, has_row) ||
      !std::ranges::all_of(spectral.columns, has_column))
    return no("a row or a column is not in the pattern");
  // Each row and column may occur once, which bounds the work whatever a file claims.
  const auto repeats = [](std::vector<std::int64_t> list) {
    std::ranges::sort(list);
    return std::ranges::adjacent_find(list) != list.end();
  };
  if (repeats(spectral.rows) || repeats(spectral.columns))
    return no("a row or a column is there twice");
  const bool by_rows = spectral.rows.size() <= spectral.columns.size();
  const auto& near = by_rows ? spectral.rows : spectral.columns;
  const auto& far = by_rows ? spectral.columns : spectral.rows;
  const auto& p = by_rows ? spectral.row_weights : spectral.column_weights;
  const auto& w = by_rows ? spectral.column_weights : spectral.row_weights;
  constexpr std::int64_t most_weight = std::int64_t{1} << 24;
  // 2^36 multiplications take about half a minute. The sizes are checked first, so that their
  // product does not overflow.
  constexpr std::size_t most_near = 4096;
  constexpr std::size_t most_far = std::size_t{1} << 24;
  constexpr std::size_t most_products = std::size_t{1} << 36;
  const auto fits = [](std::int64_t weight) { return weight >= 1 && weight <= most_weight; };
  if (!std::ranges::all_of(p, fits) || !std::ranges::all_of(w, fits))
    return no("weights must be from 1 to 2^24");
  if (near.size() > most_near || far.size() > most_far ||
      near.size() * near.size() * far.size() > most_products)
    return no("{} and {} rows and columns are more than are checked", near.size(), far.size());
  const std::int64_t sum_p = std::accumulate(p.begin(), p.end(), std::int64_t{0});
  const std::int64_t sum_w = std::accumulate(w.begin(), w.end(), std::int64_t{0});
  const std::size_t n = near.size();
  std::vector<double> matrix(n * n);
  std::vector<std::int8_t> rows(n * far.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < far.size(); ++j)
      rows[i * far.size() + j] =
          (by_rows ? signs(near[i], far[j]) : signs(far[j], near[i])) ? 1 : -1;
  const double rank = static_cast<double>(claim.dim) + 1;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      std::int64_t sum = 0;  // |sum| ≤ 2^48: exact, here and as a double
      for (std::size_t l = 0; l < far.size(); ++l)
        sum += w[l] * rows[i * far.size() + l] * rows[j * far.size() + l];
      matrix[i * n + j] = matrix[j * n + i] = -static_cast<double>(sum);
    }
  // This factor outweighs the roundings, at most five, each by 2^-53 of its result, so the diagonal
  // is not above the true one.
  constexpr double down = 1 - 0x1p-49;
  for (std::size_t i = 0; i < n; ++i) {
    const double diagonal = static_cast<double>(sum_p) / static_cast<double>(p[i]) *
                            static_cast<double>(sum_w) / (rank * rank) * down;
    matrix[i * n + i] = std::nextafter(diagonal - static_cast<double>(sum_w),
                                       -std::numeric_limits<double>::infinity());
  }
  return verification::positive_definite(std::move(matrix), n)
             ? yes()
             : no("the norm is not shown to be small enough for dimension {}", claim.dim);
}

RefutationCheck check(const verification::Signs& signs, const Refutation& claim,
                      const OrderProof& proof) {
  return verification::check_order_proof(signs.pattern(), claim.dim, proof);
}

RefutationCheck check(const verification::Signs& /*signs*/, const Refutation& /*claim*/,
                      const SolverSaid& /*said*/) {
  return no("a solver's word is not a proof; its problem can be given to another solver");
}

}  // namespace

const char* name_of(const Grounds& grounds) {
  constexpr const char* names[] = {"odd circle", "sign conflict", "full set",
                                   "spectral",   "order proof",   "solver"};
  static_assert(std::size(names) == std::variant_size_v<Grounds>);
  return names[grounds.index()];
}

RefutationCheck check_refutation(const Pattern& pattern, const Refutation& refutation) {
  pattern::check_pattern(pattern);
  if (refutation.dim < 1)
    return no("dimension {} was claimed; it must be at least 1", refutation.dim);
  const verification::Signs signs(pattern);
  return std::visit([&](const auto& grounds) { return check(signs, refutation, grounds); },
                    refutation.grounds);
}

}  // namespace tamis::lab
