// Witnesses of the paper's construction: verified exactly, in both forms, for patterns
// of every kind.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/verify.h>

#include "lab/realise/jl/construction.h"

namespace tamis {
namespace {

lab::Tensor tensor_of(const char* name, const std::vector<double>& values, std::int64_t rows,
                      std::int64_t cols) {
  lab::Tensor tensor({name, DType::f64, {rows, cols}});
  std::memcpy(tensor.bytes().data(), values.data(), tensor.bytes().size());
  return tensor;
}

lab::Witness witness_of(const lab::realisation::JlWitness& made,
                        const lab::Conditions& conditions) {
  const lab::realisation::Candidate& c = made.candidate;
  lab::Witness witness;
  witness.q = tensor_of("q", c.q, c.rows, c.dim);
  witness.k = tensor_of("k", c.k, c.cols, c.dim);
  if (c.inputs) {
    witness.x = tensor_of("x", c.inputs->x, c.rows, c.inputs->hidden);
    witness.w_q = tensor_of("w_q", c.inputs->w_q, c.inputs->hidden, 2 * c.dim);
    witness.w_k = tensor_of("w_k", c.inputs->w_k, c.inputs->hidden, 2 * c.dim);
  }
  witness.made_for = conditions;
  return witness;
}

RC_GTEST_PROP(Jl, EveryWitnessVerifiesExactlyInBothForms, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(n, 4) + 1);
  const auto gamma = *rc::gen::element(1.0, 1.5, 3.0);
  const bool causal = *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const lab::Conditions conditions{
      .eps1 = *rc::gen::element(0.1, 0.5, 0.9), .eps2 = 1, .causal = causal};
  const lab::Pattern pattern = causal ? lab::causal_pattern(n, k, gamma, seed)
                                      : lab::permutations_pattern(n, k, gamma, seed);
  // With m near n nearly every draw is accepted, so that no run is wasted.
  const auto m = n - *rc::gen::inRange<std::int64_t>(0, std::max<std::int64_t>(1, n / 3));
  const auto hidden = 2 * m + *rc::gen::inRange<std::int64_t>(0, 5);
  const auto made = lab::realisation::jl_witness(pattern, conditions, {m, 200, hidden, seed, 1});
  if (!made) {
    RC_TAG("none found");
    return;
  }
  const lab::Verification verified =
      lab::verify(pattern, witness_of(*made, conditions), conditions, 1);
  RC_ASSERT(verified.holds());
}

TEST(Jl, FindsWitnessesOnTheRangesSideToo) {
  const lab::Pattern pattern = lab::permutations_pattern(128, 1, 1, 4);
  const lab::Conditions conditions{.eps1 = 0.5, .eps2 = 1};
  const auto made =
      lab::realisation::jl_witness(pattern, conditions, {.dim = 52, .hidden = 110, .seed = 1});
  ASSERT_TRUE(made.has_value());
  EXPECT_GE(made->redraws, 1);
  EXPECT_LE(made->redraws, 128);
  EXPECT_TRUE(lab::verify(pattern, witness_of(*made, conditions), conditions).holds());
}

TEST(Jl, WeightsDependOnSizesAlone) {
  const lab::realisation::JlOptions options{.dim = 30, .redraws = 1000, .hidden = 64, .seed = 1};
  const lab::Conditions conditions{.eps1 = 0.9, .eps2 = 1};
  const auto a =
      lab::realisation::jl_witness(lab::permutations_pattern(32, 1, 1, 1), conditions, options);
  const auto b =
      lab::realisation::jl_witness(lab::permutations_pattern(32, 2, 2, 2), conditions, options);
  ASSERT_TRUE(a && b);
  const auto& [one, other] = std::pair(*a->candidate.inputs, *b->candidate.inputs);
  EXPECT_EQ(one.w_q, other.w_q);
  EXPECT_EQ(one.w_k, other.w_k);
  EXPECT_NE(one.x, other.x);
}

TEST(Jl, SameSeedSameBitsForAnyNumberOfThreads) {
  const lab::Pattern pattern = lab::permutations_pattern(64, 1, 1, 4);
  const lab::Conditions conditions{.eps1 = 0.5, .eps2 = 1};
  lab::realisation::JlOptions options{.dim = 34, .redraws = 500, .seed = 1, .threads = 1};
  const auto one = lab::realisation::jl_witness(pattern, conditions, options);
  options.threads = 3;
  const auto three = lab::realisation::jl_witness(pattern, conditions, options);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->redraws, three->redraws);
  EXPECT_EQ(one->candidate.q, three->candidate.q);
  EXPECT_EQ(one->candidate.k, three->candidate.k);
}

TEST(Jl, SaysSoWhenNoDrawIsAccepted) {
  EXPECT_FALSE(lab::realisation::jl_witness(lab::permutations_pattern(64, 1, 1, 4),
                                            {.eps1 = 0.1, .eps2 = 1}, {.dim = 2})
                   .has_value());
}

std::string refused(const lab::Pattern& pattern, const lab::Conditions& conditions,
                    const lab::realisation::JlOptions& options) {
  try {
    (void)lab::realisation::jl_witness(pattern, conditions, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Jl, RefusesWhatItCannotDoInOneSentence) {
  const lab::Pattern pattern = lab::permutations_pattern(8, 1, 1, 4);
  EXPECT_NE(refused(pattern, {}, {.dim = 9}).find("d = 2m up to 16"), std::string::npos);
  EXPECT_NE(refused(pattern, {}, {.dim = 0}).find("dimension 0"), std::string::npos);
  EXPECT_NE(refused(pattern, {}, {.dim = 4, .hidden = 7}).find("hidden size 7"), std::string::npos);
  EXPECT_NE(refused(pattern, {}, {.dim = 4, .redraws = -1}).find("-1 redraws"), std::string::npos);
  EXPECT_NE(refused(pattern, {.causal = true}, {.dim = 4}).find("above the diagonal"),
            std::string::npos);
  EXPECT_NE(refused(lab::pairs_pattern(4), {}, {.dim = 2}).find("6 × 4"), std::string::npos);
}

}  // namespace
}  // namespace tamis
