// Dense attention over all cases of cases.h, on every target, and the other promises
// of its contract.
#include <gtest/gtest.h>
#include <tamis/tamis.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <tamis/attention.h>
#include <tamis/error.h>

#include "kernels/kernels.h"
#include "support/allocations.h"
#include "support/cases.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

struct Result {
  std::vector<float> out;
  std::vector<float> lse;
  bool operator==(const Result&) const = default;
};

Result run_dense(const Problem& problem, Workspace& workspace) {
  const Shape& shape = problem.shape();
  Result result{std::vector<float>(static_cast<std::size_t>(shape.rows() * shape.value_dim)),
                std::vector<float>(static_cast<std::size_t>(shape.rows()))};
  dense(shape, problem.q(), problem.kv(), problem.seen(), workspace,
        {result.out.data(), shape.rows(), shape.value_dim}, result.lse);
  return result;
}

/// Computes the same through the C ABI.
Result run_c_abi(const Problem& problem) {
  const Shape& shape = problem.shape();
  const tamis_shape c_shape{sizeof(tamis_shape),
                            shape.query_heads,
                            shape.kv_heads,
                            shape.queries,
                            shape.head_dim,
                            shape.value_dim,
                            static_cast<tamis_dtype>(shape.dtype),
                            shape.scale};
  std::vector<tamis_kv_pages> kv;
  for (const KvPages& head : problem.kv())
    kv.push_back({head.k, head.v, head.tokens, head.k_stride, head.v_stride});
  Result result{std::vector<float>(static_cast<std::size_t>(shape.rows() * shape.value_dim)),
                std::vector<float>(static_cast<std::size_t>(shape.rows()))};
  tamis_workspace* workspace = nullptr;
  EXPECT_EQ(tamis_workspace_create(2, &workspace), TAMIS_OK);
  EXPECT_EQ(tamis_dense(&c_shape, problem.q().data, kv.data(),
                        problem.seen().empty() ? nullptr : problem.seen().data(), workspace,
                        result.out.data(), result.lse.data()),
            TAMIS_OK)
      << tamis_last_error();
  tamis_workspace_free(workspace);
  return result;
}

class EveryCase : public ::testing::TestWithParam<Case> {};

TEST_P(EveryCase, IsWithinItsBoundOnEveryTargetAndThroughTheCAbi) {
  const Problem problem(GetParam());
  const Answer reference = reference_answer(problem);
  Workspace workspace(2);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Result result = run_dense(problem, workspace);
    expect_within_bound(problem, reference, result.out, result.lse);
    EXPECT_EQ(result, run_c_abi(problem));
  });
}

TEST_P(EveryCase, HasTheSameBitsForAnyNumberOfThreadsAndAnyWorkspace) {
  const Problem problem(GetParam());
  Workspace one(1);
  Workspace three(3);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Result first = run_dense(problem, one);
    EXPECT_EQ(first, run_dense(problem, three));
    EXPECT_EQ(first, run_dense(problem, one));
  });
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryCase, ::testing::ValuesIn(attention_cases()),
                         [](const auto& entry) {
                           return std::to_string(entry.index) + "_" + name(entry.param);
                         });

TEST(Dense, ARowHasTheSameBitsAloneAsAmongOthersWhenDecoding) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    Case c;
    c.shape = {16, 2, 1, 80, 72, dtype, 0.1F};
    c.tokens = 1300;
    const Problem problem(c);
    for_each_target([&](const char* target) {
      SCOPED_TRACE(target);
      Workspace workspace(1);
      const Result together = run_dense(problem, workspace);
      for (std::int64_t head = 0; head < 16; ++head) {
        Shape alone = c.shape;
        alone.query_heads = alone.kv_heads = 1;
        std::vector<float> out(72);
        std::vector<float> lse(1);
        dense(alone, problem.q().middle_rows(head, 1),
              problem.kv().subspan(static_cast<std::size_t>(head / 8), 1), {}, workspace,
              {out.data(), 1, 72}, lse);
        EXPECT_EQ(lse[0], together.lse[static_cast<std::size_t>(head)]);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), together.out.begin() + head * 72));
      }
    });
  }
}

TEST(Dense, AllocatesNothingOnceTheWorkspaceHasSeenTheShape) {
  for (const std::int64_t queries : {1, 40}) {
    Case c;
    c.shape = {8, 2, queries, 64, 48, DType::bf16, 0.125F};
    c.tokens = 3000;
    const Problem problem(c);
    Workspace workspace(1);
    std::vector<float> out(static_cast<std::size_t>(c.shape.rows() * c.shape.value_dim));
    std::vector<float> lse(static_cast<std::size_t>(c.shape.rows()));
    const auto call = [&] {
      dense(c.shape, problem.q(), problem.kv(), {}, workspace,
            {out.data(), c.shape.rows(), c.shape.value_dim}, lse);
    };
    call();
    const std::int64_t before = allocations();
    call();
    EXPECT_EQ(allocations(), before);
  }
}

TEST(Dense, AgreesWithTheDefinitionOfCausalSelfAttention) {
  // CSA(X) with W_Q = [I 0 0], W_K = [0 I 0], W_V = [0 0 I] is attention with q, k, v the three
  // parts of X.
  constexpr std::int64_t n = 37;
  constexpr std::int64_t d = 6;
  Case c;
  c.shape = {1, 1, n, d, d, DType::f32, 1.0F};
  c.tokens = n;
  c.causal = true;
  const Problem problem(c);
  std::vector<double> x(n * 3 * d);
  std::vector<double> w(3 * (3 * d) * d);
  const View<double> xv(x.data(), n, 3 * d);
  const KvPages& kv = problem.kv()[0];
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < d; ++j) {
      xv(i, j) = problem.q()(i, j);
      xv(i, d + j) = static_cast<const float*>(kv.k[0])[i * kv.k_stride + j];
      xv(i, 2 * d + j) = static_cast<const float*>(kv.v[0])[i * kv.v_stride + j];
    }
  View<double> parts[3];
  for (std::int64_t p = 0; p < 3; ++p) {
    parts[p] = {w.data() + p * 3 * d * d, 3 * d, d};
    for (std::int64_t j = 0; j < d; ++j) parts[p](p * d + j, j) = 1;
  }
  Answer expected = reference_answer(problem);  // for lse, which the definition does not give
  csa(xv, parts[0], parts[1], parts[2], {expected.out.data(), n, d});
  Workspace workspace(1);
  const Result result = run_dense(problem, workspace);
  expect_within_bound(problem, expected, result.out, result.lse);
}

TEST(Dense, WeightsAreWithinTauOfTheExactOnes) {
  // With unit vectors as values the output equals the weights. Rounding them to the output type
  // adds half of what `error` allows beyond 2τ for values of norm 1, so the distance is at most
  // error / 2.
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::int64_t queries : {1, 20}) {
      constexpr std::int64_t n = 300;
      constexpr std::int64_t d = 64;
      std::vector<float> q(static_cast<std::size_t>(queries * d));
      for (std::size_t i = 0; i < q.size(); ++i) q[i] = 3.0F * std::sin(static_cast<float>(i * i));
      std::vector<float> k(n * d);
      std::vector<float> v(n * n);
      double key_norm = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        double squares = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          const auto at = static_cast<std::size_t>(t * d + c);
          k[at] = to_float(to_bf16(2.0F * std::cos(static_cast<float>(3 * t + c * c))));
          squares += static_cast<double>(k[at]) * k[at];
        }
        key_norm = std::max(key_norm, std::sqrt(squares));
        v[static_cast<std::size_t>(t * n + t)] = 1.0F;
      }
      const std::vector<std::byte> keys = bytes_of(dtype, k);
      const std::vector<std::byte> values = bytes_of(dtype, v);
      const PageTables store(dtype, keys.data(), values.data(), 1, n, d, n);
      const Shape shape{1, 1, queries, d, n, dtype, 0.5F};
      std::vector<float> out(static_cast<std::size_t>(queries * n));
      std::vector<float> lse(static_cast<std::size_t>(queries));
      std::vector<double> exact(out.size());
      std::vector<double> exact_lse(lse.size());
      reference(shape, {q.data(), queries, d}, store.heads(), {}, {exact.data(), queries, n},
                exact_lse);
      for_each_target([&](const char* target) {
        SCOPED_TRACE(target);
        Workspace workspace(1);
        dense(shape, {q.data(), queries, d}, store.heads(), {}, workspace, {out.data(), queries, n},
              lse);
        for (std::int64_t i = 0; i < queries; ++i) {
          double squares = 0;
          for (std::int64_t c = 0; c < d; ++c)
            squares += std::pow(q[static_cast<std::size_t>(i * d + c)], 2);
          const Rounding bound = attention_rounding(shape, n, std::sqrt(squares) * (1 + 1e-12),
                                                    key_norm * (1 + 1e-12), 1);
          double distance = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(i * n + j);
            distance += std::abs(out[at] - exact[at]) / 2;
          }
          EXPECT_GT(bound.tau, 0);
          EXPECT_LT(bound.tau, 0.01);
          EXPECT_LE(distance, bound.error / 2);
        }
      });
    }
}

TEST(Dense, StatesOfPartsMergeToTheStateOfTheWhole) {
  for (const std::int64_t queries : {1, 30}) {
    Case c;
    c.shape = {4, 2, queries, 48, 40, DType::f16, 0.15F};
    c.tokens = 700;
    const Problem problem(c);
    const Answer reference = reference_answer(problem);
    const Shape& shape = c.shape;
    const auto rows = static_cast<std::size_t>(shape.rows());
    struct State {
      explicit State(const Shape& s)
          : m(static_cast<std::size_t>(s.rows())),
            l(m.size()),
            o(m.size() * static_cast<std::size_t>(s.value_dim)) {
        view = {m, l, {o.data(), s.rows(), s.value_dim}};
      }
      std::vector<float> m, l, o;
      SoftmaxStates view;
    };
    // Pages 0 … 2, pages from 3 on, and no page at all, merged in both orders.
    for (const bool reversed : {false, true}) {
      Workspace workspace(1);
      std::vector<State> parts;
      for (const auto& [first, tokens] :
           {std::pair<std::int64_t, std::int64_t>{0, 384}, {384, 316}, {0, 0}}) {
        std::vector<KvPages> kv(problem.kv().begin(), problem.kv().end());
        for (KvPages& head : kv) {
          head.k += first / page_tokens;
          head.v += first / page_tokens;
          head.tokens = tokens;
        }
        parts.emplace_back(shape);
        dense_states(shape, problem.q(), kv, {}, workspace, parts.back().view);
      }
      if (reversed) std::swap(parts[0], parts[2]);
      for (State& part : parts)
        part.view = {part.m, part.l, {part.o.data(), shape.rows(), shape.value_dim}};
      merge(parts[0].view, parts[1].view);
      merge(parts[0].view, parts[2].view);
      std::vector<float> lse(rows);
      finish(parts[0].view, parts[0].view.o, lse);
      expect_within_bound(problem, reference, parts[0].o, lse);
    }
  }
}

TEST(Dense, AStateWhoseLogitsAreNotFiniteIsNotLostInAMerge) {
  float m[2] = {1.0F, -std::numeric_limits<float>::infinity()};
  float l[2] = {2.0F, std::nanf("")};
  float o[2] = {3.0F, 0.0F};
  for (const std::size_t into : {0U, 1U}) {
    std::vector<float> mi{m[into]}, li{l[into]}, oi{o[into]}, mf{m[1 - into]}, lf{l[1 - into]},
        of{o[1 - into]};
    merge({mi, li, {oi.data(), 1, 1}}, {mf, lf, {of.data(), 1, 1}});
    std::vector<float> lse(1);
    EXPECT_THROW(finish({mi, li, {oi.data(), 1, 1}}, {oi.data(), 1, 1}, lse), Error);
  }
}

TEST(Dense, ARowHasTheSameBitsWhateverTheOthersOfItsBatchSee) {
  Case c;
  c.shape = {2, 1, 4, 33, 33, DType::bf16, 0.3F};
  c.tokens = 1500;
  const Problem problem(c);
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    Workspace workspace(1);
    std::vector<float> first;
    for (const std::vector<std::int64_t>& seen :
         {std::vector<std::int64_t>{1100, 1100, 1100, 1100}, {1100, 3, 1500, 0}}) {
      std::vector<float> out(8 * 33);
      std::vector<float> lse(8);
      dense(c.shape, problem.q(), problem.kv(), seen, workspace, {out.data(), 8, 33}, lse);
      std::vector<float> row(out.begin(), out.begin() + 33);
      row.push_back(lse[0]);
      if (first.empty()) first = row;
      EXPECT_EQ(row, first);
    }
  });
}

TEST(PageTables, CanBeMovedAndNotCopied) {
  static_assert(!std::is_copy_constructible_v<PageTables>);
  const std::vector<float> data(1000, 1.0F);
  PageTables tables(DType::f32, data.data(), data.data(), 2, 200, 2, 1);
  const void* page = tables.heads()[1].k[1];
  const PageTables moved = std::move(tables);
  EXPECT_EQ(moved.heads()[1].k[1], page);
}

/// Runs dense attention on one head of `d` = 4 and returns the error's message, or "" if none.
std::string sentence_of(std::vector<float> q, std::vector<float> k, std::vector<float> v) {
  const auto tokens = static_cast<std::int64_t>(k.size() / 4);
  Shape shape{1, 1, static_cast<std::int64_t>(q.size() / 4), 4, 4, DType::f32, 1.0F};
  const PageTables tables(DType::f32, k.data(), v.data(), 1, tokens, 4, 4);
  std::vector<float> out(q.size());
  std::vector<float> lse(q.size() / 4);
  Workspace workspace(1);
  try {
    dense(shape, {q.data(), shape.queries, 4}, tables.heads(), {}, workspace,
          {out.data(), shape.queries, 4}, lse);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::input);
    return error.what();
  }
  return "";
}

TEST(Dense, NumbersThatAreNotFiniteAreAnErrorWhereverTheyStand) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const std::size_t queries : {1U, 12U})
      for (const std::size_t tokens : {1U, 9U, 131U, 1025U}) {
        const std::vector<float> q(4 * queries, 0.5F);
        const std::vector<float> k(4 * tokens, 0.25F);
        const std::vector<float> v(4 * tokens, 2.0F);
        EXPECT_EQ(sentence_of(q, k, v), "");
        for (const float bad : {inf, -inf, nan, 3e38F, -3e38F})
          for (const std::size_t place : {std::size_t{0}, 4 * tokens - 1}) {
            const bool overflows = std::abs(bad) < inf;  // finite, but its products are not
            std::vector<float> bad_k = k;
            bad_k[place] = bad;
            std::vector<float> large_q = q;
            if (overflows) std::fill(large_q.begin(), large_q.end(), 1e10F);
            EXPECT_NE(sentence_of(large_q, bad_k, v).find("not finite"), std::string::npos)
                << bad << " at " << place;
            if (overflows) continue;
            std::vector<float> bad_v = v;
            bad_v[place] = bad;
            EXPECT_NE(sentence_of(q, k, bad_v).find("not finite"), std::string::npos)
                << bad << " at " << place;
            std::vector<float> bad_q = q;
            bad_q[place % bad_q.size()] = bad;
            EXPECT_NE(sentence_of(bad_q, k, v).find("not finite"), std::string::npos)
                << bad << " at " << place;
          }
      }
  });
}

TEST(Dense, WrongArgumentsAreNamed) {
  const std::vector<float> data(4096, 1.0F);
  Workspace workspace(1);
  std::vector<float> out(64);
  std::vector<float> lse(4);
  const PageTables tables(DType::f32, data.data(), data.data(), 2, 10, 16, 16);
  const Shape good{4, 2, 1, 16, 16, DType::f32, 1.0F};
  const auto sentence = [&](Shape shape, std::int64_t q_cols, std::vector<std::int64_t> seen,
                            std::size_t heads) {
    try {
      dense(shape, {data.data(), 4, q_cols}, tables.heads().subspan(0, heads), seen, workspace,
            {out.data(), 4, 16}, lse);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto with = [&](auto change) {
    Shape shape = good;
    change(shape);
    return shape;
  };
  EXPECT_EQ(sentence(good, 16, {}, 2), "no error");
  EXPECT_NE(sentence(with([](Shape& s) { s.query_heads = 3; }), 16, {}, 2).find("3 query heads"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.kv_heads = 0; }), 16, {}, 2).find("0 KV heads"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.head_dim = 0; }), 16, {}, 2).find("head sizes 0"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.value_dim = 1 << 20; }), 16, {}, 2).find("1048576"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.dtype = DType::i8; }), 16, {}, 2).find("dtype i8"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.scale = std::nanf(""); }), 16, {}, 2).find("scale"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.queries = 2; }), 16, {}, 2).find("q is 4"),
            std::string::npos);
  EXPECT_NE(sentence(with([](Shape& s) { s.queries = (std::int64_t{1} << 61) + 1; }), 16, {}, 2)
                .find("queries is"),
            std::string::npos);
  EXPECT_NE(sentence(good, 15, {}, 2).find("q is 4 × 15"), std::string::npos);
  EXPECT_NE(sentence(good, 16, {11}, 2).find("sees 11 keys"), std::string::npos);
  EXPECT_NE(sentence(good, 16, {-1}, 2).find("sees -1 keys"), std::string::npos);
  EXPECT_NE(sentence(good, 16, {1, 2}, 2).find("2 entries for 1 queries"), std::string::npos);
  EXPECT_NE(sentence(good, 16, {}, 1).find("1 page tables"), std::string::npos);
}

TEST(Attention, AMatrixThatIsNowhereIsNamed) {
  const auto sentence = [](auto&& call) {
    try {
      call();
      return std::string("no error");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::usage);
      return std::string(error.what());
    }
  };
  const std::vector<float> data(4096, 1.0F);
  std::vector<float> numbers(64);
  std::vector<float> lse(4);
  const PageTables tables(DType::f32, data.data(), data.data(), 2, 10, 16, 16);
  const Shape shape{4, 2, 1, 16, 16, DType::f32, 1.0F};
  Workspace workspace(1);
  const View<float> nowhere(nullptr, 4, 16);
  const View<const float> q(data.data(), 4, 16);
  EXPECT_EQ(sentence([&] { dense(shape, q, tables.heads(), {}, workspace, nowhere, lse); }),
            "the output is null; it must have 4 rows");
  EXPECT_EQ(
      sentence([&] {
        dense(shape, {nullptr, 4, 16}, tables.heads(), {}, workspace, {numbers.data(), 4, 16}, lse);
      }),
      "q is null; it must have 4 rows");
  const SoftmaxStates states{lse, lse, {numbers.data(), 4, 16}};
  EXPECT_EQ(sentence([&] { finish(states, nowhere, lse); }),
            "the output is null; it must have 4 rows");
  EXPECT_EQ(sentence([&] {
              merge({lse, lse, nowhere}, states);
            }),
            "o of the states is null; it must have 4 rows");
  const std::vector<double> x(16, 1.0);
  const View<const double> some(x.data(), 4, 4);
  EXPECT_EQ(sentence([&] {
              sam(some, some, some, {nullptr, 4, 4});
            }),
            "the output is null; it must have 4 rows");
  EXPECT_EQ(sentence([&] {
              csa(some, some, some, some, {nullptr, 4, 4});
            }),
            "the output is null; it must have 4 rows");
  std::vector<double> out(16);
  EXPECT_EQ(sentence([&] {
              usam({nullptr, 4, 4}, some, some, {out.data(), 4, 4});
            }),
            "x is null; it must have 4 rows");
}

}  // namespace
}  // namespace tamis::test
