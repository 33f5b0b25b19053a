// The index and sparse attention through the C ABI: the bits and certificates of the C++ functions, and
// codes for nonsense.
#include <gtest/gtest.h>
#include <tamis/sieve.h>
#include <tamis/tamis.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "capi_problem.h"
#include "support/allocations.h"
#include "unit/io_support.h"

namespace tamis_c {
namespace {

constexpr std::int64_t tokens = 2500;  // 19 whole blocks and a rest
constexpr std::int64_t blocks = tokens / 128;
constexpr std::int64_t dim = 16;
constexpr std::int64_t rows = 4;

/// 4 query heads on 2 KV heads, one query, d = d_v = 16, f32. Keys grow along the text, so that some
/// matter more than others.
struct Sieve {
  tamis_shape shape{sizeof(tamis_shape), rows, 2, 1, dim, dim, TAMIS_F32, 0.25F};
  tamis_index_shape index_shape{sizeof(tamis_index_shape), 2, dim, dim, 4, TAMIS_F32, 0};
  tamis_sieve_options options{sizeof(tamis_sieve_options), 0, 0, 1, nullptr, 0};
  std::vector<float> q = random_floats(rows * dim, 11);
  std::vector<float> k = random_floats(2 * tokens * dim, 12);
  std::vector<float> v = random_floats(2 * tokens * dim, 13);
  std::vector<float> out = std::vector<float>(rows * dim);
  std::vector<float> lse = std::vector<float>(rows);
  std::vector<tamis_certificate> certificates = std::vector<tamis_certificate>(rows);
  std::vector<tamis_kv_pages> pages = std::vector<tamis_kv_pages>(2);
  std::vector<tamis_budget> budgets;
  Kv kv;
  Index index;
  Workspace workspace;

  Sieve() {
    for (std::size_t i = 0; i < k.size(); ++i)
      k[i] *= 0.2F + 2.0F * static_cast<float>(i / dim % tokens) / tokens;
    EXPECT_EQ(tamis_kv_create(TAMIS_F32, 2, dim, dim, &kv), TAMIS_OK);
    EXPECT_EQ(tamis_kv_append_f32(kv, k.data(), v.data(), tokens), TAMIS_OK);
    EXPECT_EQ(tamis_kv_get_pages(kv, pages.data(), 2), TAMIS_OK);
    EXPECT_EQ(tamis_workspace_create(1, &workspace), TAMIS_OK);
    EXPECT_EQ(tamis_index_create(&index_shape, &index), TAMIS_OK) << tamis_last_error();
    EXPECT_EQ(tamis_index_extend(index, pages.data(), 2, workspace), TAMIS_OK) << tamis_last_error();
    use("mass:0.05");
  }

  void use(const char* text) {
    budgets.resize(1);
    ASSERT_EQ(tamis_budget_parse(text, budgets.data()), TAMIS_OK) << tamis_last_error();
  }

  tamis_code attend() { return attend_with(index); }
  tamis_code attend_with(const tamis_index* other) {
    return tamis_attend(other, &shape, q.data(), pages.data(), nullptr, budgets.data(), budgets.size(),
                        &options, workspace, out.data(), lse.data(), certificates.data());
  }
};

tamis_index_info info_of(const tamis_index* index) {
  tamis_index_info info{};
  info.size = sizeof info;
  EXPECT_EQ(tamis_index_get_info(index, &info), TAMIS_OK) << tamis_last_error();
  return info;
}

/// What tamis::attend says to the same question.
struct Answer {
  Result result{std::vector<float>(rows * dim), std::vector<float>(rows)};
  std::vector<tamis::Certificate> certificates = std::vector<tamis::Certificate>(rows);
};

Answer by_cpp(const Sieve& s, const std::vector<tamis::Budget>& budgets,
              const tamis::SieveOptions& options) {
  tamis::IndexShape index_shape;
  index_shape.kv_heads = 2;
  index_shape.head_dim = index_shape.value_dim = dim;
  tamis::Shape shape;
  shape.query_heads = rows;
  shape.kv_heads = 2;
  shape.head_dim = shape.value_dim = dim;
  shape.scale = 0.25F;
  const tamis::PageTables tables(tamis::DType::f32, s.k.data(), s.v.data(), 2, tokens, dim, dim);
  tamis::Workspace workspace(1);
  tamis::Index index(index_shape);
  index.extend(tables.heads(), workspace);
  Answer answer;
  tamis::attend(index, shape, {s.q.data(), rows, dim}, tables.heads(), {}, budgets, options, workspace,
                {answer.result.out.data(), rows, dim}, answer.result.lse, answer.certificates);
  return answer;
}

void expect_same(const Sieve& s, const Answer& answer) {
  EXPECT_EQ((Result{s.out, s.lse}), answer.result);
  for (std::size_t r = 0; r < rows; ++r) {
    const tamis_certificate& c = s.certificates[r];
    const tamis::Certificate& cpp = answer.certificates[r];
    EXPECT_EQ(c.tau, cpp.tau);
    EXPECT_EQ(c.error, cpp.error);
    EXPECT_EQ(c.lse_error, cpp.lse_error);
    EXPECT_EQ(c.grade, TAMIS_PROVED);
    EXPECT_EQ(c.dense, cpp.dense ? 1 : 0);
    EXPECT_EQ(c.coarse_keys, cpp.coarse_keys);
    EXPECT_EQ(c.middle_keys, cpp.middle_keys);
    EXPECT_EQ(c.exact_keys, cpp.exact_keys);
    EXPECT_EQ(c.middle_values, cpp.middle_values);
    EXPECT_EQ(c.exact_values, cpp.exact_values);
    EXPECT_EQ(c.coarse_bytes, cpp.coarse_bytes);
    EXPECT_EQ(c.middle_bytes, cpp.middle_bytes);
    EXPECT_EQ(c.exact_bytes, cpp.exact_bytes);
    for (const std::int64_t reserved : c.reserved) EXPECT_EQ(reserved, 0);
  }
}

TEST(CApiSieve, AttendGivesTheBitsAndCertificatesOfTheCppFunction) {
  Sieve s;
  for (const char* text :
       {"mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5", "window:256,4", "topk:9999"})
    for (const int no_ladder : {0, 1}) {
      SCOPED_TRACE(std::string(text) + (no_ladder == 1 ? " without the ladder" : ""));
      s.use(text);
      s.options.no_ladder = no_ladder;
      tamis::SieveOptions options;
      options.ladder = no_ladder == 0;
      options.dense_below = 1;
      ASSERT_EQ(s.attend(), TAMIS_OK) << tamis_last_error();
      expect_same(s, by_cpp(s, {tamis::parse_budget(text)}, options));
      if (std::string_view(text) == "topk:64") {
        EXPECT_EQ(s.certificates[0].dense, 0);
      }
      if (std::string_view(text) == "topk:9999") {
        EXPECT_EQ(s.certificates[0].dense, 1);
      }
    }
}

TEST(CApiSieve, EveryQueryHeadMayHaveItsBudget) {
  Sieve s;
  std::vector<tamis::Budget> budgets;
  for (const char* text : {"mass:0.5", "mass:0.01", "topk:8", "topk:900"}) {
    budgets.push_back(tamis::parse_budget(text));
    s.budgets.resize(budgets.size());
    ASSERT_EQ(tamis_budget_parse(text, &s.budgets.back()), TAMIS_OK);
  }
  tamis::SieveOptions options;
  options.dense_below = 1;
  ASSERT_EQ(s.attend(), TAMIS_OK) << tamis_last_error();
  expect_same(s, by_cpp(s, budgets, options));
}

TEST(CApiSieve, NoOptionsAndZerosMeanTheDefaults) {
  Sieve s;
  const Answer expected = by_cpp(s, {tamis::Budget{}}, {});
  s.options = {sizeof(tamis_sieve_options), 0, 0, 0, nullptr, 0};
  ASSERT_EQ(s.attend(), TAMIS_OK) << tamis_last_error();
  expect_same(s, expected);
  s.out.assign(s.out.size(), 0);
  ASSERT_EQ(tamis_attend(s.index, &s.shape, s.q.data(), s.pages.data(), nullptr, s.budgets.data(), 1,
                         nullptr, s.workspace, s.out.data(), s.lse.data(), nullptr),
            TAMIS_OK)
      << tamis_last_error();
  EXPECT_EQ((Result{s.out, s.lse}), expected.result);
}

TEST(CApiSieve, TheWeightsUsedAreThoseOfTheCppFunction) {
  Sieve s;
  std::vector<float> got(rows * tokens, -1);
  std::vector<float> expected(rows * tokens, -1);
  s.options.weights = got.data();
  s.options.weights_cols = tokens;
  ASSERT_EQ(s.attend(), TAMIS_OK) << tamis_last_error();
  tamis::SieveOptions options;
  options.dense_below = 1;
  options.weights = {expected.data(), rows, tokens};
  (void)by_cpp(s, {tamis::Budget{}}, options);
  EXPECT_EQ(got, expected);
  s.options.weights_cols = huge;
  expect_usage(s.attend(), "weights");
  s.options.weights_cols = tokens - 1;
  expect_usage(s.attend(), "weights");
}

TEST(CApiSieve, AttendAllocatesNothingOnceTheWorkspaceHasSeenTheCall) {
  Sieve s;
  ASSERT_EQ(s.attend(), TAMIS_OK);
  const std::int64_t before = tamis::testing::allocations();
  ASSERT_EQ(s.attend(), TAMIS_OK);
  EXPECT_EQ(tamis::testing::allocations(), before);
}

TEST(CApiSieve, AnIndexGrowsWithTheStoreAndIsCopiedAndTruncatedIndependently) {
  Sieve s;
  ASSERT_EQ(s.attend(), TAMIS_OK);
  const Result whole{s.out, s.lse};
  const tamis_index_info full = info_of(s.index);
  EXPECT_EQ(full.tokens, blocks * 128);
  EXPECT_EQ(full.kv_heads, 2);
  EXPECT_EQ(full.head_dim, dim);
  EXPECT_EQ(full.value_dim, dim);
  EXPECT_EQ(full.sinks, 4);
  EXPECT_EQ(full.dtype, TAMIS_F32);
  EXPECT_EQ(full.no_values, 0);
  EXPECT_GT(full.bytes, 0U);

  Index copy;
  ASSERT_EQ(tamis_index_copy(s.index, &copy), TAMIS_OK) << tamis_last_error();
  ASSERT_EQ(tamis_index_truncate(s.index, 300), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(info_of(s.index).tokens, 256);
  EXPECT_EQ(info_of(copy).tokens, full.tokens);
  ASSERT_EQ(s.attend_with(copy), TAMIS_OK);
  EXPECT_EQ((Result{s.out, s.lse}), whole);

  // What was forgotten is indexed again, to the same bits.
  ASSERT_EQ(tamis_index_extend(s.index, s.pages.data(), 2, s.workspace), TAMIS_OK) << tamis_last_error();
  EXPECT_EQ(info_of(s.index).tokens, full.tokens);
  EXPECT_EQ(info_of(s.index).bytes, full.bytes);
  ASSERT_EQ(s.attend(), TAMIS_OK);
  EXPECT_EQ((Result{s.out, s.lse}), whole);
}

TEST(CApiSieve, AnIndexWithoutValuesIsSmaller) {
  Sieve s;
  s.index_shape.no_values = 1;
  Index smaller;
  ASSERT_EQ(tamis_index_create(&s.index_shape, &smaller), TAMIS_OK) << tamis_last_error();
  ASSERT_EQ(tamis_index_extend(smaller, s.pages.data(), 2, s.workspace), TAMIS_OK);
  EXPECT_EQ(info_of(smaller).no_values, 1);
  EXPECT_LT(info_of(smaller).bytes, info_of(s.index).bytes);
}

TEST(CApiSieve, AKeyThatIsNotFiniteIsNamedAndLeavesTheIndexAsItWas) {
  Sieve s;
  ASSERT_EQ(tamis_index_truncate(s.index, 0), TAMIS_OK);
  s.k[static_cast<std::size_t>((tokens + 200) * dim + 3)] = std::nanf("");
  const tamis::PageTables tables(tamis::DType::f32, s.k.data(), s.v.data(), 2, tokens, dim, dim);
  for (std::size_t h = 0; h < 2; ++h) {
    const tamis::KvPages& head = tables.heads()[h];
    s.pages[h] = {head.k, head.v, head.tokens, head.k_stride, head.v_stride};
  }
  EXPECT_EQ(tamis_index_extend(s.index, s.pages.data(), 2, s.workspace), TAMIS_INPUT);
  EXPECT_NE(std::string(tamis_last_error()).find("200"), std::string::npos) << tamis_last_error();
  EXPECT_EQ(info_of(s.index).tokens, 0);
}

TEST(CApiSieve, ASavedIndexGivesTheSameBitsAndBelongsToItsKeys) {
  Sieve s;
  const tamis::test::Folder folder;
  const std::string path = folder / "index.safetensors";
  ASSERT_EQ(s.attend(), TAMIS_OK);
  const Result expected{s.out, s.lse};
  ASSERT_EQ(tamis_index_save(s.index, path.c_str(), s.pages.data(), 2), TAMIS_OK) << tamis_last_error();
  Index loaded;
  ASSERT_EQ(tamis_index_load(path.c_str(), TAMIS_F32, s.pages.data(), 2, &loaded), TAMIS_OK)
      << tamis_last_error();
  EXPECT_EQ(info_of(loaded).tokens, blocks * 128);
  ASSERT_EQ(s.attend_with(loaded), TAMIS_OK);
  EXPECT_EQ((Result{s.out, s.lse}), expected);

  std::swap(s.pages[0], s.pages[1]);
  Index other;
  EXPECT_EQ(tamis_index_load(path.c_str(), TAMIS_F32, s.pages.data(), 2, &other), TAMIS_INPUT);
  EXPECT_EQ(other.handle, nullptr);
  EXPECT_NE(std::string(tamis_last_error()).find(path), std::string::npos) << tamis_last_error();
  EXPECT_EQ(tamis_index_load((folder / "none").c_str(), TAMIS_F32, s.pages.data(), 2, &other), TAMIS_INPUT);
  expect_usage(tamis_index_load(path.c_str(), TAMIS_F32, nullptr, 2, &other), "kv is null");
  expect_usage(tamis_index_load(path.c_str(), 99, s.pages.data(), 2, &other), "dtype");
  expect_usage(tamis_index_load(path.c_str(), TAMIS_F32, s.pages.data(), SIZE_MAX, &other), "count");
  expect_usage(tamis_index_save(s.index, path.c_str(), s.pages.data(), 1), "count is 1");
}

// ---- Budgets ----

TEST(CApiSieve, BudgetsGoToTextAndBack) {
  for (const char* text : {"mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5", "window:256,4"}) {
    tamis_budget budget;
    char back[TAMIS_BUDGET_TEXT];
    ASSERT_EQ(tamis_budget_parse(text, &budget), TAMIS_OK) << tamis_last_error();
    ASSERT_EQ(tamis_budget_to_text(&budget, back, sizeof back), TAMIS_OK) << tamis_last_error();
    EXPECT_STREQ(back, text);
    EXPECT_EQ(tamis_budget_to_text(&budget, back, std::strlen(text) + 1), TAMIS_OK);
    expect_usage(tamis_budget_to_text(&budget, back, std::strlen(text)), "capacity");
  }
  // The longest there is: 17 digits, sign and exponent twice.
  tamis_budget longest{TAMIS_POWER, 0, 0, 0, -1, 1.7976931348623157e+308, 0, 0, 0};
  longest.alpha = std::nextafter(HUGE_VAL, 0.0);
  longest.exponent = std::nextafter(std::nextafter(2.2250738585072014e-308, 0.0), 0.0);
  char text[TAMIS_BUDGET_TEXT];
  EXPECT_EQ(tamis_budget_to_text(&longest, text, sizeof text), TAMIS_OK) << tamis_last_error();
  longest = {TAMIS_WINDOW, 0, 0, 0, 0, 0, 0, huge, huge};
  EXPECT_EQ(tamis_budget_to_text(&longest, text, sizeof text), TAMIS_OK) << tamis_last_error();
  expect_usage(tamis_budget_parse("topk:0", &longest), "at least 1");
  expect_usage(tamis_budget_parse("top", &longest), "topk:K");
}

TEST(CApiSieve, AProfileGivesItsBudgets) {
  const tamis::test::Folder folder;
  const std::string path = folder / "p.json";
  tamis::test::write_text(path, R"({"heads": [{"layer": 3, "head": 1, "budget": "power:2,0.5"},
                                              {"layer": 3, "head": 0, "budget": "topk:64"}]})");
  Profile profile;
  ASSERT_EQ(tamis_profile_read(path.c_str(), &profile), TAMIS_OK) << tamis_last_error();
  const tamis_head_budget* heads = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(tamis_profile_budgets(profile, &heads, &count), TAMIS_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(heads[0].layer, 3);
  EXPECT_EQ(heads[0].head, 1);
  EXPECT_EQ(heads[0].budget.kind, TAMIS_POWER);
  EXPECT_EQ(heads[0].budget.alpha, 2);
  EXPECT_EQ(heads[0].budget.exponent, 0.5);
  EXPECT_EQ(heads[1].head, 0);
  EXPECT_EQ(heads[1].budget.k, 64);
  tamis::test::write_text(path, "[]");
  Profile bad;
  EXPECT_EQ(tamis_profile_read(path.c_str(), &bad), TAMIS_INPUT);
  EXPECT_EQ(bad.handle, nullptr);
}

TEST(CApiSieve, BudgetsThatAreNoneGiveUsage) {
  Sieve s;
  const std::vector<std::pair<std::function<void()>, const char*>> breaks{
      {[&] { s.budgets[0].kind = -1; }, "kind"},
      {[&] { s.budgets[0].kind = TAMIS_WINDOW + 1; }, "kind"},
      {[&] { s.budgets[0].reserved = 1; }, "reserved"},
      {[&] { s.budgets[0].eps = 1; }, "EPS"},
      {[&] { s.budgets[0].eps = std::nan(""); }, "EPS"},
      {[&] { s.budgets[0].kind = TAMIS_TOPK; }, "K is '0'"},
      {[&] { s.budgets.resize(3, s.budgets[0]); }, "budget"},
      {[&] { s.budgets.clear(); }, "budget"},
  };
  for (const auto& [spoil, part] : breaks) {
    s.use("mass:0.05");
    spoil();
    expect_usage(s.attend(), part);
  }
  const auto attend = [&](const tamis_budget* budgets, std::size_t count) {
    return tamis_attend(s.index, &s.shape, s.q.data(), s.pages.data(), nullptr, budgets, count, &s.options,
                        s.workspace, s.out.data(), s.lse.data(), s.certificates.data());
  };
  expect_usage(attend(nullptr, 1), "budgets is null");
  expect_usage(attend(s.budgets.data(), SIZE_MAX), "budget_count");
}

// ---- Nonsense ----

TEST(CApiSieve, NonsenseIndexShapesGiveUsage) {
  const std::vector<std::pair<std::function<void(tamis_index_shape&)>, const char*>> breaks{
      {[](auto& s) { s.size = 0; }, "sizeof(tamis_index_shape)"},
      {[](auto& s) { s.kv_heads = 0; }, "KV heads"},
      {[](auto& s) { s.kv_heads = (1 << 20) + 1; }, "kv_heads"},
      {[](auto& s) { s.head_dim = 0; }, "head sizes"},
      {[](auto& s) { s.head_dim = 1025; }, "head sizes"},
      {[](auto& s) { s.value_dim = huge; }, "head sizes"},
      {[](auto& s) { s.sinks = -1; }, "sinks"},
      {[](auto& s) { s.sinks = 129; }, "sinks"},
      {[](auto& s) { s.dtype = TAMIS_F64; }, "dtype"},
      {[](auto& s) { s.dtype = 77; }, "dtype"},
      {[](auto& s) { s.no_values = 2; }, "no_values"},
  };
  for (const auto& [spoil, part] : breaks) {
    tamis_index_shape shape{sizeof(tamis_index_shape), 2, dim, dim, 4, TAMIS_F32, 0};
    spoil(shape);
    Index index;
    index.handle = reinterpret_cast<tamis_index*>(&index);  // must be overwritten
    expect_usage(tamis_index_create(&shape, &index), part);
    EXPECT_EQ(index.handle, nullptr);
  }
}

TEST(CApiSieve, ArgumentsThatDoNotFitTogetherGiveUsage) {
  Sieve s;
  expect_usage(tamis_index_extend(s.index, s.pages.data(), 1, s.workspace), "count is 1");
  expect_usage(tamis_index_truncate(s.index, -1), "truncate");
  auto pages = s.pages;
  pages[1].tokens = 5;
  expect_usage(tamis_index_extend(s.index, pages.data(), 2, s.workspace), "tokens");
  pages = s.pages;
  pages[1].k = nullptr;
  expect_usage(tamis_index_extend(s.index, pages.data(), 2, s.workspace), "kv[1].k is null");

  const auto spoilt = [&](const std::function<void(Sieve&)>& spoil, const char* part) {
    const tamis_shape shape = s.shape;
    const tamis_sieve_options options = s.options;
    spoil(s);
    expect_usage(s.attend(), part);
    s.shape = shape;
    s.options = options;
  };
  spoilt([](Sieve& x) { x.shape.size = 1; }, "sizeof(tamis_shape)");
  spoilt([](Sieve& x) { x.shape.dtype = TAMIS_F16; }, "index");
  spoilt([](Sieve& x) { x.shape.head_dim = dim - 1; }, "index");
  spoilt([](Sieve& x) { x.shape.query_heads = x.shape.kv_heads = 1; }, "index");
  spoilt([](Sieve& x) { x.options.size = 8; }, "sizeof(tamis_sieve_options)");
  spoilt([](Sieve& x) { x.options.no_ladder = 2; }, "no_ladder");
  spoilt([](Sieve& x) { x.options.fewest_bytes = 2; }, "fewest_bytes");
  spoilt([](Sieve& x) { x.options.dense_below = -1; }, "dense_below");
  ASSERT_EQ(s.attend(), TAMIS_OK) << tamis_last_error();
}

TEST(CApiSieve, NullPointersGiveUsage) {
  Sieve s;
  tamis_index_info info{};
  info.size = sizeof info;
  tamis_budget budget{};
  char text[TAMIS_BUDGET_TEXT];
  const tamis_head_budget* heads = nullptr;
  std::size_t count = 0;
  Index index;
  Profile profile;
  const auto attend = [&](const tamis_index* i, const tamis_shape* shape, const float* q,
                          const tamis_kv_pages* kv, tamis_workspace* workspace, float* out, float* lse) {
    return tamis_attend(i, shape, q, kv, nullptr, s.budgets.data(), 1, &s.options, workspace, out, lse,
                        s.certificates.data());
  };
  float* out = s.out.data();
  float* lse = s.lse.data();
  const std::vector<tamis_code> codes{
      tamis_budget_parse(nullptr, &budget),
      tamis_budget_parse("topk:1", nullptr),
      tamis_budget_to_text(nullptr, text, sizeof text),
      tamis_budget_to_text(s.budgets.data(), nullptr, 64),
      tamis_profile_read(nullptr, &profile),
      tamis_profile_read("p.json", nullptr),
      tamis_profile_budgets(nullptr, &heads, &count),
      tamis_index_create(nullptr, &index),
      tamis_index_create(&s.index_shape, nullptr),
      tamis_index_copy(nullptr, &index),
      tamis_index_copy(s.index, nullptr),
      tamis_index_extend(nullptr, s.pages.data(), 2, s.workspace),
      tamis_index_extend(s.index, nullptr, 2, s.workspace),
      tamis_index_extend(s.index, s.pages.data(), 2, nullptr),
      tamis_index_truncate(nullptr, 0),
      tamis_index_get_info(nullptr, &info),
      tamis_index_get_info(s.index, nullptr),
      tamis_index_save(nullptr, "x", s.pages.data(), 2),
      tamis_index_save(s.index, nullptr, s.pages.data(), 2),
      tamis_index_save(s.index, "x", nullptr, 2),
      tamis_index_load(nullptr, TAMIS_F32, s.pages.data(), 2, &index),
      tamis_index_load("x", TAMIS_F32, s.pages.data(), 2, nullptr),
      attend(nullptr, &s.shape, s.q.data(), s.pages.data(), s.workspace, out, lse),
      attend(s.index, nullptr, s.q.data(), s.pages.data(), s.workspace, out, lse),
      attend(s.index, &s.shape, nullptr, s.pages.data(), s.workspace, out, lse),
      attend(s.index, &s.shape, s.q.data(), nullptr, s.workspace, out, lse),
      attend(s.index, &s.shape, s.q.data(), s.pages.data(), nullptr, out, lse),
      attend(s.index, &s.shape, s.q.data(), s.pages.data(), s.workspace, nullptr, lse),
      attend(s.index, &s.shape, s.q.data(), s.pages.data(), s.workspace, out, nullptr),
  };
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(codes[i], TAMIS_USAGE) << "call " << i;
  tamis_index_free(nullptr);
  tamis_profile_free(nullptr);
}

}  // namespace
}  // namespace tamis_c
