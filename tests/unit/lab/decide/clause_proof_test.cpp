// Clauses given to cadical: its answers become proofs by unit propagation that use only
// the necessary clauses.
#include "lab/decide/orders/clause_proof.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/verify/unit_propagation.h"
#include "support/lab/hours.h"

namespace tamis::test {
namespace {

using Clauses = std::vector<std::vector<std::int32_t>>;

lab::decision::Formula formula_of(const Clauses& clauses) {
  lab::decision::Formula formula;
  for (const auto& clause : clauses) {
    for (std::int32_t literal : clause) {
      formula.variables = std::max(formula.variables, std::abs(literal));
      formula.literals.push_back(literal);
    }
    formula.literals.push_back(0);
    ++formula.clauses;
  }
  return formula;
}

/// The pigeonhole clauses: one pigeon more than holes, each in a hole, no two in the same one.
/// Variable h + 1 + holes·p says that pigeon p is in hole h.
Clauses pigeons(std::int32_t holes) {
  const auto in = [&](std::int32_t pigeon, std::int32_t hole) { return hole + 1 + holes * pigeon; };
  Clauses clauses;
  for (std::int32_t p = 0; p <= holes; ++p) {
    std::vector<std::int32_t>& somewhere = clauses.emplace_back();
    for (std::int32_t h = 0; h < holes; ++h) somewhere.push_back(in(p, h));
  }
  for (std::int32_t h = 0; h < holes; ++h)
    for (std::int32_t p = 0; p <= holes; ++p)
      for (std::int32_t q = 0; q < p; ++q) clauses.push_back({-in(p, h), -in(q, h)});
  return clauses;
}

TEST(ClauseProof, RestsOnTheClausesThatMatter) {
  SKIP_WITHOUT_CADICAL();
  Clauses clauses = pigeons(5);
  const std::size_t matter = clauses.size();
  const std::int32_t free = 30;  // variables above this are unrelated to the pigeons
  for (std::int32_t v = 1; v < 40; ++v)
    clauses.push_back({free + v, -(free + 1 + v), free + 2 + v});
  Hours hours;
  const lab::decision::ClauseAnswer answer =
      lab::decision::refute_clauses(formula_of(clauses), -1, hours.part());
  const auto* proof = std::get_if<lab::decision::ClauseProof>(&answer);
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->used.size(), matter);  // every clause of the pigeons is needed
  EXPECT_LT(proof->used.back(), static_cast<std::int64_t>(matter));
  lab::verification::UnitPropagation known(free + 41);
  for (const std::int64_t clause : proof->used)
    known.add(clauses[static_cast<std::size_t>(clause)]);
  for (const auto& learnt : proof->learnt) {
    EXPECT_TRUE(known.implies(learnt));
    known.add(learnt);
  }
  EXPECT_TRUE(proof->learnt.back().empty());
  EXPECT_TRUE(known.contradiction());
}

TEST(ClauseProof, MayBeTheEmptyClauseAlone) {
  SKIP_WITHOUT_CADICAL();
  Hours hours;
  const lab::decision::ClauseAnswer answer =
      lab::decision::refute_clauses(formula_of({{1}, {2, 3}, {-1}}), -1, hours.part());
  ASSERT_TRUE(std::holds_alternative<lab::decision::ClauseProof>(answer));
  EXPECT_EQ(std::get<lab::decision::ClauseProof>(answer).learnt, (Clauses{{}}));
  EXPECT_EQ(std::get<lab::decision::ClauseProof>(answer).used, (std::vector<std::int64_t>{0, 2}));
}

TEST(ClauseProof, IsNotGivenForClausesThatCanBeMet) {
  SKIP_WITHOUT_CADICAL();
  Clauses clauses = pigeons(5);
  clauses.pop_back();
  Hours hours;
  EXPECT_TRUE(std::holds_alternative<lab::decision::Satisfiable>(
      lab::decision::refute_clauses(formula_of(clauses), -1, hours.part())));
}

TEST(ClauseProof, IsGivenUpAfterSoManyConflicts) {
  SKIP_WITHOUT_CADICAL();
  Hours hours;
  EXPECT_TRUE(std::holds_alternative<lab::decision::Undecided>(
      lab::decision::refute_clauses(formula_of(pigeons(9)), 10, hours.part())));
}

}  // namespace
}  // namespace tamis::test
