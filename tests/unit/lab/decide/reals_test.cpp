// Questions to solvers over the reals: known answers are confirmed, and one solver's answer is
// never accepted against another's.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "lab/decide/line/line.h"
#include "lab/decide/solvers/ask_reals.h"
#include "lab/decide/solvers/real_problem.h"
#include "lab/decide/solvers/smt_model.h"
#include "lab/decide/solvers/subprocess.h"
#include "lab/decide/solvers/temp_folder.h"
#include "support/lab/witnesses.h"

#define NEEDS_Z3() \
  if (lab::decision::find_program("z3").empty()) GTEST_SKIP() << "not run: z3 is not installed"

namespace tamis::test {
namespace {

using Hidden = std::optional<std::int64_t>;
const ProgressCallback silent;

lab::decision::SolverAnswer ask(const lab::Pattern& pattern, std::int64_t dim, Hidden hidden = {},
                                double seconds = 1e6) {
  lab::decision::Clock clock(seconds, silent);
  lab::decision::Clock::Part part(clock, seconds);
  return lab::decision::ask_reals(pattern, dim, hidden, 1, part);
}

/// Row i holds column j if bit j of sets[i] is 1.
lab::Pattern pattern_of_sets(const std::vector<unsigned>& sets, std::int64_t cols) {
  Matrix matrix{std::ssize(sets), cols, {}};
  for (const unsigned set : sets)
    for (std::int64_t j = 0; j < cols; ++j) matrix.values.push_back(set >> j & 1U);
  return pattern_of(matrix);
}

void expect_yes(const lab::Pattern& pattern, std::int64_t dim, Hidden hidden = {}) {
  const lab::decision::SolverAnswer answer = ask(pattern, dim, hidden);
  ASSERT_TRUE(answer.witness) << answer.outcome;
  EXPECT_FALSE(answer.refuted);
  const lab::Witness& witness = answer.witness->witness();
  EXPECT_TRUE(lab::verify(pattern, witness, {.weak = true}, 1).holds());
  EXPECT_EQ(hidden ? witness.w_k.info().shape[1] : witness.k.info().shape[1], dim);
  if (hidden) {
    EXPECT_EQ(witness.x.info().shape[1], *hidden);
  }
  EXPECT_EQ(answer.runs.back().answer, "sat");
}

void expect_no(const lab::Pattern& pattern, std::int64_t dim, Hidden hidden = {}) {
  const lab::decision::SolverAnswer answer = ask(pattern, dim, hidden);
  ASSERT_TRUE(answer.refuted) << answer.outcome;
  EXPECT_FALSE(answer.witness);
  EXPECT_EQ(answer.refuted->runs[0].answer, "unsat");
  for (const lab::SolverSaid::Run& run : answer.refuted->runs) EXPECT_NE(run.answer, "sat");
  EXPECT_NE(answer.refuted->problem.find("(check-sat)"), std::string::npos);
}

const lab::Pattern identity = pattern_of_sets({1, 2, 4}, 3);

TEST(Reals, TheIdentityNeedsTwoDimensions) {
  NEEDS_Z3();
  expect_no(identity, 1);
  expect_yes(identity, 2);
}

TEST(Reals, AnswerAsTheExactAlgorithmOnALine) {
  NEEDS_Z3();
  // Every 13th pattern: 13 and 7 are coprime, so that all kinds of rows occur together.
  for (unsigned number = 0; number < 343; number += 13) {
    const lab::Pattern pattern =
        pattern_of_sets({number % 7 + 1, number / 7 % 7 + 1, number / 49 + 1}, 3);
    for (const Hidden hidden : {Hidden{}, Hidden{1}}) {
      const bool yes =
          std::holds_alternative<lab::Witness>(lab::decision::decide_line(pattern, hidden));
      SCOPED_TRACE(lab::decision::problem_comment(pattern, 1, hidden));
      yes ? expect_yes(pattern, 1, hidden) : expect_no(pattern, 1, hidden);
    }
  }
}

TEST(Reals, TheCounterexampleToThePrintedAlgorithmIsPossible) {
  NEEDS_Z3();
  expect_yes(pattern_of_sets({1, 4, 7}, 3), 1, 1);
}

TEST(Reals, AllSplitsOfFourColumnsNeedThreeDimensions) {
  NEEDS_Z3();
  const std::vector<unsigned> splits = {1, 2, 4, 8, 3, 5, 9};
  expect_no(pattern_of_sets(splits, 4), 2);
  expect_yes(pattern_of_sets(splits, 4), 3);
  expect_yes(pattern_of_sets({1, 2, 4, 8, 3, 5}, 4), 2);
}

TEST(Reals, PatternsWithMoreColumnsThanRowsAreAskedTheOtherWayRound) {
  NEEDS_Z3();
  // The columns are all subsets of three rows: three lines divide the plane into seven
  // parts, not eight.
  expect_no(pattern_of_sets({0b10101010, 0b11001100, 0b11110000}, 8), 2);
  expect_yes(pattern_of_sets({0b10101010, 0b11001100, 0b11110000}, 8), 3);
  expect_yes(pattern_of_sets({0b0101010, 0b1001100, 0b1110000}, 7), 2);
}

TEST(Reals, APatternOfFiveColumnsThatNoOrderTypeAllows) {
  NEEDS_Z3();
  expect_no(pattern_of_sets({13, 21, 4, 17, 9}, 5), 2);
}

TEST(Reals, SharedInputsOfEveryWidth) {
  NEEDS_Z3();
  const lab::Pattern pattern = pattern_of_sets({26, 25, 6, 9, 21}, 5);
  for (const std::int64_t hidden : {2, 3, 4, 5}) expect_yes(pattern, 2, hidden);
  for (const std::int64_t hidden : {3, 4, 5}) expect_yes(pattern, 3, hidden);
  expect_no(pattern_of_sets({13, 21, 4, 17, 9}, 5), 2, 3);
  expect_no(pattern, 1, 1);
}

/// The largest logits of each row, where queries use two columns of x and keys use three.
lab::Pattern planted_pattern(std::int64_t n, Dice& dice) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < 3 * n; ++i) x.push_back(dice.normal());
  double b[2][3];
  for (auto& row : b)
    for (double& number : row) number = dice.normal();
  std::vector<unsigned> sets;
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<std::pair<double, unsigned>> logits;
    for (std::int64_t j = 0; j < n; ++j) {
      double logit = 0;
      for (int a = 0; a < 2; ++a)
        for (int c = 0; c < 3; ++c) logit += x[3 * i + a] * b[a][c] * x[3 * j + c];
      logits.emplace_back(-logit, 1U << j);
    }
    std::ranges::sort(logits);
    unsigned set = 0;
    for (std::int64_t j = 0, size = 1 + dice.below(n); j < size; ++j) set |= logits[j].second;
    sets.push_back(set);
  }
  return pattern_of_sets(sets, n);
}

TEST(Reals, PlantedPatternsAreFound) {
  NEEDS_Z3();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Dice dice(seed);
    const lab::Pattern pattern = planted_pattern(2 + dice.below(4), dice);
    SCOPED_TRACE(lab::decision::problem_comment(pattern, 2, 3));
    expect_yes(pattern, 2);
    expect_yes(pattern, 2, 3);
  }
}

TEST(Reals, ProblemsThatAreTooLargeAreNotAsked) {
  Matrix matrix{200, 200, std::vector<double>(40'000)};
  for (std::int64_t i = 0; i < 200; ++i)
    for (std::int64_t j = 0; j < 200; ++j)
      matrix.values[200 * i + j] = (i * j + i) % 7 < 3 || i == j;
  const lab::decision::SolverAnswer answer = ask(pattern_of(matrix), 2, {}, 60);
  EXPECT_FALSE(answer.witness || answer.refuted);
  EXPECT_FALSE(answer.outcome.empty());
}

/// A PATH that holds only programs made by the test.
class FakeSolvers : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ::getenv("PATH");
    ::setenv("PATH", std::filesystem::path(folder_.path("x")).parent_path().c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", before_.c_str(), 1); }

  void says(const char* name, const std::string& words) {
    const std::string script =
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo It is version 7.5 today; exit; fi\n" +
        words;
    std::filesystem::permissions(folder_.write(name, script), std::filesystem::perms::owner_all);
  }

 private:
  lab::decision::TempFolder folder_;
  std::string before_;
};

TEST_F(FakeSolvers, WithoutThemThereIsNoAnswer) {
  const lab::decision::SolverAnswer answer = ask(identity, 1);
  EXPECT_FALSE(answer.witness || answer.refuted);
  EXPECT_TRUE(answer.runs.empty());
  EXPECT_EQ(answer.outcome, "neither z3 nor cvc5 is installed");
}

TEST_F(FakeSolvers, OneIsEnough) {
  says("cvc5", "echo unsat");
  const lab::decision::SolverAnswer answer = ask(identity, 1);
  ASSERT_TRUE(answer.refuted);
  ASSERT_EQ(answer.refuted->runs.size(), 1U);
  EXPECT_EQ(answer.refuted->runs[0].program, "cvc5 7.5");
}

TEST_F(FakeSolvers, ThatContradictEachOtherAreNotBelieved) {
  says("z3", "echo unsat");
  says("cvc5", "echo sat");
  const lab::decision::SolverAnswer answer = ask(identity, 1);
  EXPECT_FALSE(answer.witness || answer.refuted);
  ASSERT_EQ(answer.runs.size(), 2U);
  EXPECT_EQ(answer.runs[0].answer, "unsat");
  EXPECT_EQ(answer.runs[1].answer, "sat");
  EXPECT_EQ(answer.outcome, "solvers contradict each other");
}

TEST_F(FakeSolvers, ThatContradictThemselvesAreNotBelieved) {
  says("z3", "if [ -e \"$0\".asked ]; then echo unsat; else echo sat; : > \"$0\".asked; fi");
  const lab::decision::SolverAnswer answer = ask(identity, 1);
  EXPECT_FALSE(answer.witness || answer.refuted);
  EXPECT_EQ(answer.outcome, "solvers contradict each other");
}

TEST_F(FakeSolvers, NumbersThatDoNotHoldAreNoWitness) {
  says("z3", "echo sat; echo '((k_2_1 0.0) (q_0_1 0.0) (q_1_1 0.0) (q_2_1 0.0))'");
  const lab::decision::SolverAnswer answer = ask(identity, 1, {}, 0.2);
  EXPECT_FALSE(answer.witness || answer.refuted);
  EXPECT_EQ(answer.runs[0].answer, "sat");
}

TEST_F(FakeSolvers, TheSilenceOfTheSecondIsNoContradiction) {
  says("z3", "echo unsat; echo '(error \"no model\")'; exit 1");
  for (const auto& [words, answer] :
       {std::pair("echo unknown", "unknown"), std::pair("kill -SEGV $$", "failed"),
        std::pair("echo 'out of memory' >&2; exit 3", "memory"),
        std::pair("while :; do :; done", "timeout")}) {
    says("cvc5", words);
    const lab::decision::SolverAnswer said = ask(identity, 1);
    ASSERT_TRUE(said.refuted);
    ASSERT_EQ(said.refuted->runs.size(), 2U);
    EXPECT_EQ(said.refuted->runs[1].answer, answer);
  }
}

TEST_F(FakeSolvers, CasesBySignsAreOfferedToTheSecondTogether) {
  // The first program answers unknown to the whole problem, which has six assertions, and refutes
  // every case; the second answers each (check-sat). Both use only shell builtins.
  const std::string count =
      "for file; do :; done; asserts=0; while read -r line; do case $line in\n"
      "'(assert'*) asserts=$((asserts + 1));;\n";
  says("z3",
       count +
           "esac; done < \"$file\"; if [ $asserts = 6 ]; then echo unknown; else echo unsat; fi");
  says("cvc5", count + "'(check-sat)') echo unsat;;\nesac; done < \"$file\"");
  const lab::decision::SolverAnswer answer = ask(identity, 1);
  ASSERT_TRUE(answer.refuted);
  EXPECT_EQ(answer.refuted->runs[0].answer, "unsat");
  EXPECT_EQ(answer.refuted->runs[1].answer, "unsat");
  // There is one free key on a line, of two entries with sum 1, hence three cases of signs.
  std::size_t cases = 0;
  for (auto at = answer.refuted->problem.find("(check-sat)"); at != std::string::npos;
       at = answer.refuted->problem.find("(check-sat)", at + 1))
    ++cases;
  EXPECT_EQ(cases, 3U);
}

TEST_F(FakeSolvers, AWordBeforeACrashIsNoAnswer) {
  says("z3", "echo unsat; kill -SEGV $$");
  const lab::decision::SolverAnswer answer = ask(identity, 1, {}, 0.2);
  EXPECT_FALSE(answer.witness || answer.refuted);
  EXPECT_EQ(answer.runs[0].answer, "failed");
}

TEST(SmtModel, ReadsNumbersAsSolversWriteThem) {
  const auto values = lab::decision::smt_values(
      "sat\n((a 1.5)\n (b (- 2.0))(c 1.4142135623?) (d (/ 1 4)) (e (- (/ 3.0 2.0))))\n",
      {"e", "a", "b", "c", "d"});
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (std::vector<double>{-1.5, 1.5, -2.0, 1.4142135623, 0.25}));
}

TEST(SmtModel, WhatIsNotAModelIsNothing) {
  for (const char* text :
       {"", "unsat", "sat", "sat (", "sat ((a", "sat ((a 1.0", "sat ((b 1.0))", "sat ((a x))",
        "sat ((a (- 1.0 2.0)))", "sat ((a (_ real_algebraic_number <1*x^2 + (-2), (1, 2)>)))",
        "sat ((a (- (- (- 1.0)))))", "sat (error \"a\")"})
    EXPECT_FALSE(lab::decision::smt_values(text, {"a"})) << text;
  EXPECT_EQ(lab::decision::smt_verdict("unsat\n(error)"), "unsat");
  EXPECT_EQ(lab::decision::smt_verdict("unsat\nunsat\n", 2), "unsat");
  EXPECT_EQ(lab::decision::smt_verdict("unsat\nunknown\nunsat\n", 3), "unknown");
  EXPECT_EQ(lab::decision::smt_verdict("unknown\nsat\n", 3), "sat");
  EXPECT_EQ(lab::decision::smt_verdict("unsat\n", 2), "");
  EXPECT_EQ(lab::decision::smt_verdict("unsatisfiable"), "");
  EXPECT_EQ(lab::decision::smt_verdict("(error \"sat\")"), "");
}

TEST(RealProblem, SaysWhatItMeans) {
  const lab::decision::SignMatrix signs = *lab::decision::sign_matrix(identity);
  const auto problem = lab::decision::free_problem(identity, signs, 1, 0, 1);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->text.find(";   row 1: 010\n"), std::string::npos);
  EXPECT_NE(problem->text.find("queries and keys of 1 columns"), std::string::npos);
  EXPECT_EQ(problem->unknowns, (std::vector<std::string>{"k_2_1", "q_0_1", "q_1_1", "q_2_1"}));
  // Without use of symmetries: n inputs of 2 columns and a 2 × 2 form, less what an affine change
  // of basis (6 parameters) fixes.
  EXPECT_EQ(lab::decision::shared_problem(pattern_of_sets({1, 2, 4, 8, 16}, 5), 2, 2, 0, 1)
                ->unknowns.size(),
            10U);
}

}  // namespace
}  // namespace tamis::test
