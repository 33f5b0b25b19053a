// Witnesses of every method on random patterns: they verify exactly, and fail once moved
// beyond their margin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>

#include <tamis/error.h>
#include <tamis/lab/bounds.h>
#include <tamis/lab/dmin.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/realise.h>

namespace tamis::test {
namespace {

lab::Pattern random_pattern(std::int64_t n, std::int64_t k, double gamma, bool causal,
                            std::uint64_t seed) {
  return causal ? lab::causal_pattern(n, k, gamma, seed)
                : lab::permutations_pattern(n, k, gamma, seed);
}

lab::RealiseOptions quick(lab::Method method, bool causal) {
  lab::RealiseOptions options;
  options.method = method;
  options.conditions.causal = causal;
  options.steps = 1000;
  options.threads = 1;
  return options;
}

/// The witness with one entry of one query moved, so that the row's worst zero comes within log ε₁
/// of its worst nonzero.
lab::Witness moved_beyond_margin(const lab::Pattern& pattern, const lab::Witness& witness,
                                 bool causal, std::int64_t row) {
  std::vector<double> q = witness.q.to_f64();
  const std::vector<double> k = witness.k.to_f64();
  const std::int64_t dim = witness.q.info().shape[1];
  const std::span<const std::int64_t> support = pattern.columns_of(row);
  std::int64_t high = -1;
  std::int64_t low = -1;
  double most = 0;
  double least = 0;
  for (std::int64_t j = 0; j < (causal ? row + 1 : pattern.cols); ++j) {
    double s = 0;
    for (std::int64_t c = 0; c < dim; ++c) s += q[row * dim + c] * k[j * dim + c];
    const bool nonzero = std::find(support.begin(), support.end(), j) != support.end();
    if (nonzero && (low < 0 || s < least)) {
      low = j;
      least = s;
    }
    if (!nonzero && (high < 0 || s > most)) {
      high = j;
      most = s;
    }
  }
  std::int64_t column = 0;
  double apart = 0;
  for (std::int64_t c = 0; c < dim; ++c) {
    const double difference = k[high * dim + c] - k[low * dim + c];
    if (std::abs(difference) > std::abs(apart)) {
      apart = difference;
      column = c;
    }
  }
  // Twice the margin, and more than rounding can hide.
  const double margin = std::log(witness.made_for.eps1) - (most - least);
  q[row * dim + column] += (2 * margin + 0x1p-40 * (std::abs(most) + std::abs(least))) / apart;
  lab::Witness moved;
  moved.q = lab::Tensor({"q", DType::f64, {pattern.rows, dim}});
  moved.k = lab::Tensor({"k", DType::f64, {pattern.cols, dim}});
  std::memcpy(moved.q.bytes().data(), q.data(), moved.q.bytes().size());
  std::memcpy(moved.k.bytes().data(), k.data(), moved.k.bytes().size());
  moved.made_for = witness.made_for;
  return moved;
}

RC_GTEST_PROP(Realise, EveryWitnessOfEveryMethodVerifiesExactlyAndNoneMovedBeyondItsMarginDoes,
              ()) {
  const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  const auto n = *rc::gen::inRange<std::int64_t>(12, 201);
  const auto k = *rc::gen::inRange<std::int64_t>(1, 6);
  const bool causal = *rc::gen::arbitrary<bool>();
  const auto method = *rc::gen::element(lab::Method::jl, lab::Method::moment, lab::Method::descent,
                                        lab::Method::automatic);
  // Closed-form witnesses have margins within f64 only for few nonzeros.
  const bool closed = method == lab::Method::moment;
  const lab::Pattern pattern = random_pattern(
      closed ? std::min<std::int64_t>(n, k > 2 ? 24 : 120) : n,
      closed ? std::min<std::int64_t>(k, 3) : k, *rc::gen::element(1.0, 2.0), causal, seed);
  lab::RealiseOptions options = quick(method, causal);
  options.seed = seed;
  if (method == lab::Method::jl) options.dim = pattern.rows;
  if (method == lab::Method::descent) options.dim = 2 * k + 4;
  if (method == lab::Method::automatic) options.dim = 2 * k + 2;
  const lab::Realisation result = lab::realise(pattern, options);
  RC_LOG() << "seed " << seed << ", n " << pattern.rows << ", k " << k << ", "
           << lab::name_of(method) << '\n';
  RC_TAG(result.witness ? "found" : "not found");
  // Only descent may fail to find a witness that exists.
  RC_ASSERT(result.witness.has_value() || method == lab::Method::descent);
  if (!result.witness) return;
  const lab::Verification verification =
      lab::verify(pattern, *result.witness, options.conditions, 1);
  RC_ASSERT(verification.holds());
  RC_ASSERT(verification.norm_product == result.verification.norm_product);
  RC_ASSERT(verification.norm_product > lab::norm_lower_bound(pattern, options.conditions));
  const auto row = *rc::gen::inRange<std::int64_t>(causal ? k + 1 : 0, pattern.rows);
  const lab::Witness moved = moved_beyond_margin(pattern, *result.witness, causal, row);
  const lab::Verification after = lab::verify(pattern, moved, options.conditions, 1);
  RC_ASSERT(!after.holds());
  RC_ASSERT(after[lab::Arithmetic::exact].failing_rows == 1);
}

TEST(Realise, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  const lab::Pattern pattern =
      lab::permutations_pattern(300, 2, 2, 3);  // large enough for descent to use its threads
  for (const lab::Method method : {lab::Method::jl, lab::Method::moment, lab::Method::descent}) {
    lab::RealiseOptions options = quick(method, false);
    options.dim = method == lab::Method::jl ? 300 : 8;
    options.steps = 200;
    const lab::Realisation one = lab::realise(pattern, options);
    options.threads = 5;
    const lab::Realisation five = lab::realise(pattern, options);
    ASSERT_TRUE(one.witness && five.witness) << lab::name_of(method);
    for (const auto member : {&lab::Witness::q, &lab::Witness::k}) {
      const std::span<const std::byte> a = (*one.witness.*member).bytes();
      const std::span<const std::byte> b = (*five.witness.*member).bytes();
      ASSERT_EQ(a.size(), b.size());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size()), 0) << lab::name_of(method);
    }
  }
}

TEST(Realise, ManyRowsGetTheirShortestQueriesFromTheKeysThatAreNear) {
  const lab::Pattern pattern =
      lab::permutations_pattern(2100, 1, 1, 4);  // more pairs than are examined one by one
  lab::RealiseOptions options = quick(lab::Method::descent, false);
  options.dim = 12;
  options.steps = 60;
  const lab::Realisation found = lab::realise(pattern, options);
  ASSERT_TRUE(found.witness);
  EXPECT_EQ(found.witness->q.info().dtype, DType::f32);
  // The shortest queries leave almost no margin; rows of one permutation are alike and so are the
  // lengths of their queries.
  EXPECT_LT(found.verification[lab::Arithmetic::exact].margin, 0.01);
  options.threads = 3;
  const lab::Realisation again = lab::realise(pattern, options);
  ASSERT_TRUE(again.witness);
  EXPECT_EQ(found.witness->q.to_f64(), again.witness->q.to_f64());
}

TEST(Realise, WeakConditionsAreMetInAsFewColumnsAsThereCanBe) {
  lab::RealiseOptions options = quick(lab::Method::automatic, false);
  options.conditions.weak = true;
  const lab::Realisation found = lab::realise(lab::permutations_pattern(24, 1, 1, 0), options);
  ASSERT_TRUE(found.witness);
  EXPECT_EQ(found.dim, 2);  // on a line only two keys can be the largest
}

TEST(Realise, AutoFindsFewerDimensionsThanThePapersConstructionNeedsAtItsNorm) {
  const lab::Pattern pattern = lab::permutations_pattern(96, 1, 1, 1);
  const lab::Realisation found = lab::realise(pattern, quick(lab::Method::automatic, false));
  ASSERT_TRUE(found.witness);
  EXPECT_LE(found.verification.norm_product, lab::paper_norm(pattern, {}));
  EXPECT_LT(found.dim, 40);  // the paper's random projection works from about m = 80 on
  for (const lab::Attempt& attempt : found.attempts) {
    EXPECT_EQ(attempt.verified, attempt.dim >= found.dim) << attempt.dim;
  }
  EXPECT_EQ(found.witness->q.info().shape[1], found.dim);
}

TEST(Realise, JlWritesThePapersFormWithWeightsThatDoNotDependOnThePattern) {
  lab::RealiseOptions options = quick(lab::Method::jl, false);
  options.dim = 60;
  options.hidden = 128;
  const lab::Realisation a = lab::realise(lab::permutations_pattern(60, 1, 1, 1), options);
  const lab::Realisation b = lab::realise(lab::permutations_pattern(60, 2, 2, 2), options);
  ASSERT_TRUE(a.witness && b.witness);
  EXPECT_EQ(a.witness->x.info().shape, (std::vector<std::int64_t>{60, 128}));
  EXPECT_EQ(a.witness->w_q.info().shape, (std::vector<std::int64_t>{128, 120}));
  EXPECT_EQ(a.witness->w_q.to_f64(), b.witness->w_q.to_f64());
  EXPECT_EQ(a.witness->w_k.to_f64(), b.witness->w_k.to_f64());
  EXPECT_NE(a.witness->x.to_f64(), b.witness->x.to_f64());
}

TEST(Realise, AllPairsOfDocumentsFitIntoFourDimensions) {
  const lab::Pattern pattern = lab::pairs_pattern(40);
  lab::RealiseOptions options = quick(lab::Method::automatic, false);
  options.conditions.weak = true;
  options.dim = 4;
  const lab::Realisation found = lab::realise(pattern, options);
  ASSERT_TRUE(found.witness);
  EXPECT_TRUE(found.verification[lab::Arithmetic::f32].holds);
}

TEST(Realise, RowsWithoutZerosAndPatternsOfOneColumnNeedNothing) {
  const lab::Pattern full = lab::block_pattern(6, 6, false);
  lab::RealiseOptions options = quick(lab::Method::automatic, false);
  options.max_norm = 10;
  const lab::Realisation found = lab::realise(full, options);
  ASSERT_TRUE(found.witness);
  EXPECT_EQ(found.dim, 1);
  const lab::Realisation one = lab::realise(lab::permutations_pattern(1, 1, 1, 0), options);
  ASSERT_TRUE(one.witness);
  EXPECT_EQ(one.dim, 1);
}

TEST(Realise, SaysWhatItTriedWhereNothingIsFound) {
  lab::RealiseOptions options = quick(lab::Method::descent, false);
  options.dim = 1;
  const lab::Realisation found = lab::realise(lab::permutations_pattern(32, 2, 1, 0), options);
  EXPECT_FALSE(found.witness);
  ASSERT_EQ(found.attempts.size(), 1U);
  EXPECT_EQ(found.attempts[0].why, "no step met the conditions");
}

TEST(Realise, StopsWhenItsProgressIsTold) {
  const lab::Pattern pattern = lab::permutations_pattern(64, 2, 1, 0);
  int calls = 0;
  try {
    (void)lab::realise(pattern, quick(lab::Method::automatic, false),
                       [&](double, double) { return ++calls < 5; });
    FAIL() << "it did not stop";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
}

/// A pattern with one nonzero and more columns than can be numbered.
lab::Pattern one_of_many() {
  lab::Pattern pattern;
  pattern.rows = 1;
  pattern.cols = std::int64_t{1} << 62;
  pattern.row_start = {0, 1};
  pattern.column = {0};
  pattern.value = {1};
  return pattern;
}

lab::Pattern empty_row() {
  lab::Pattern pattern;
  pattern.rows = pattern.cols = 2;
  pattern.row_start = {0, 1, 1};
  pattern.column = {0};
  pattern.value = {1};
  return pattern;
}

struct Wrong {
  const char* name;
  lab::Pattern pattern;
  lab::RealiseOptions options;
  const char* sentence;
};

TEST(Realise, RefusesWhatItCannotMean) {
  const lab::Pattern square = lab::permutations_pattern(8, 2, 1, 0);
  const auto with = [](auto change) {
    lab::RealiseOptions options;
    options.threads = 1;
    change(options);
    return options;
  };
  const std::vector<Wrong> all{
      {"eps1", square, with([](auto& o) { o.conditions.eps1 = 1; }), "eps1"},
      {"eps1 zero", square, with([](auto& o) { o.conditions.eps1 = 0; }), "eps1"},
      {"eps2", square, with([](auto& o) { o.conditions.eps2 = 0; }), "eps2"},
      {"dim", square, with([](auto& o) { o.dim = 0; }),
       "dimension 0 was asked for; it must be from 1 to 8"},
      {"norm", square, with([](auto& o) { o.max_norm = 0; }), "norm product"},
      {"dim beyond memory", square, with([](auto& o) { o.dim = std::int64_t{1} << 62; }),
       "dimension"},
      {"hidden beyond memory", square, with([](auto& o) {
         o.method = lab::Method::jl, o.dim = 8, o.hidden = std::int64_t{1} << 62;
       }),
       "hidden size"},
      {"weak norm", square, with([](auto& o) { o.conditions.weak = true, o.max_norm = 3; }),
       "any scale"},
      {"too many columns", one_of_many(), with([](auto& o) { o.dim = 1; }), "2^31"},
      {"empty row", empty_row(), with([](auto& o) { o.conditions.causal = true; }), "row 1"},
      {"steps", square, with([](auto& o) { o.steps = -1; }), "steps"},
      {"hidden", square, with([](auto& o) { o.hidden = 64; }), "only method jl"},
      {"d above 2n", square, with([](auto& o) { o.method = lab::Method::jl, o.dim = 9; }),
       "dimension 9 was asked for"},
      {"hidden below d", square,
       with([](auto& o) { o.method = lab::Method::jl, o.dim = 8, o.hidden = 15; }), "15"},
      {"moment below 2k", square, with([](auto& o) { o.method = lab::Method::moment, o.dim = 3; }),
       "at least 4"},
      {"causal", square, with([](auto& o) { o.conditions.causal = true; }), "above the diagonal"},
      {"not square", lab::pairs_pattern(5), with([](auto& o) { o.conditions.causal = true; }),
       "square"},
      {"jl not square", lab::pairs_pattern(5),
       with([](auto& o) { o.method = lab::Method::jl, o.dim = 4; }), "square"}};
  for (const Wrong& wrong : all) {
    try {
      (void)lab::realise(wrong.pattern, wrong.options);
      ADD_FAILURE() << wrong.name << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.sentence), std::string::npos)
          << wrong.name << ": " << error.what();
    }
  }
}

TEST(Frontier, FallsWithTheDimensionAndStaysAboveTheLowerBound) {
  const lab::Pattern pattern = lab::permutations_pattern(64, 1, 1, 5);
  lab::FrontierOptions options;
  options.dims = {2, 4, 8, 16};
  options.steps = 400;
  options.threads = 1;
  const lab::Frontier result = lab::frontier(pattern, options);
  ASSERT_EQ(result.points.size(), 4U);
  double before = std::numeric_limits<double>::infinity();
  for (const lab::Attempt& point : result.points) {
    ASSERT_TRUE(point.verified) << point.dim;
    EXPECT_LT(point.norm_product, before);
    EXPECT_GT(point.norm_product, result.lower_bound);
    EXPECT_LE(point.max_logit, point.norm_product * (1 + 1e-12));
    before = point.norm_product;
  }
  EXPECT_NEAR(result.lower_bound, std::log(10.0) * 63 / 64, 1e-12);
  EXPECT_NEAR(result.paper, std::log(10.0) + 1, 1e-12);
  ASSERT_TRUE(result.paper_bound && result.sharper_bound);
  EXPECT_EQ(result.paper_bound->d, lab::paper_bound(64, 1, 1, 0.1, 1).d);
  EXPECT_EQ(result.sharper_bound->d, lab::sharper_bound(64, 1, 1, 0.1, 1).d);
}

TEST(Frontier, RefusesDimensionsThatDoNotAscend) {
  lab::FrontierOptions options;
  for (const auto& dims : {std::vector<std::int64_t>{4, 2}, {2, 2}, {0, 2}}) {
    options.dims = dims;
    EXPECT_THROW((void)lab::frontier(lab::permutations_pattern(8, 1, 1, 0), options), Error);
  }
}

}  // namespace
}  // namespace tamis::test
