// Whose tokens an index was made of: through any changes of a store it answers for the tokens that are
// given, or refuses them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <tamis/error.h>
#include <tamis/sieve.h>

#include "sieve/index_file.h"
#include "support/sieve.h"
#include "unit/io_support.h"

namespace tamis::testing {
namespace {

constexpr std::int64_t d = 8;
const IndexShape index_shape{DType::f32, 2, d, d, 4, true};

/// A store whose every token is unlike all others, and the tokens that it holds.
struct Told {
  KvStore store{DType::f32, 2, d, d};
  std::vector<int> tokens;

  void append(int count, int& next) {
    std::vector<float> rows;
    for (int h = 0; h < 2; ++h)
      for (int t = 0; t < count; ++t)
        for (int c = 0; c < d; ++c)
          rows.push_back(std::sin(static_cast<float>((next + t) * (c + 1) + 7 * h)));
    store.append({rows.data(), 2 * count, d}, {rows.data(), 2 * count, d});
    for (int t = 0; t < count; ++t) tokens.push_back(next++);
  }
  void truncate(std::int64_t count) {
    store.truncate(count);
    tokens.resize(static_cast<std::size_t>(count));
  }
};

std::string refusal(auto call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::usage);
    return error.what();
  }
}

SieveResult answer(const Index& index, std::span<const KvPages> kv) {
  static const std::vector<float> q(2 * d, 0.7F);
  const Budget budget = parse_budget("topk:20");
  SieveCall call;
  call.index = &index;
  call.shape = {2, 2, 1, d, d, DType::f32, 1.0F};
  call.q = {q.data(), 2, d};
  call.kv = kv;
  call.budgets = {&budget, 1};
  Workspace workspace(1);
  return run_attend(call, workspace).value();
}

Index fresh(std::span<const KvPages> kv, std::int64_t tokens) {
  Index index(index_shape);
  Workspace workspace(1);
  index.extend(without_last(kv, kv[0].tokens - tokens), workspace);
  return index;
}

/// An index and the tokens that it was made of.
struct Made {
  Index index{index_shape};
  std::vector<int> tokens;

  /// How many of its tokens, in whole blocks, a store still holds.
  [[nodiscard]] std::int64_t same(const Told& told) const {
    const auto end = std::ranges::mismatch(tokens, told.tokens).in1;
    return (end - tokens.begin()) / page_tokens * page_tokens;
  }
  [[nodiscard]] bool fits(const Told& told) const { return same(told) == std::ssize(tokens); }

  void truncate(std::int64_t count) {
    index.truncate(count);
    tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(count / page_tokens * page_tokens)));
  }
  void extend(const Told& told) {
    Workspace workspace(1);
    index.extend(told.store.heads(), workspace);
    if (tokens.size() < told.tokens.size())
      tokens.assign(told.tokens.begin(), told.tokens.end() - std::ssize(told.tokens) % page_tokens);
  }
};

void expect_answers_or_refusal(const Told& told, Made& made) {
  const auto kv = told.store.heads();
  RC_ASSERT(made.index.tokens() == std::ssize(made.tokens));
  if (made.fits(told)) {
    RC_ASSERT(same_bits(answer(made.index, kv), answer(fresh(kv, made.index.tokens()), kv)));
    return;
  }
  const std::string why = refusal([&] { (void)answer(made.index, kv); });
  RC_ASSERT(!why.empty());
  RC_ASSERT(!refusal([&] { made.index.save("/nowhere/index", kv); }).empty());
  RC_ASSERT(!refusal([&] { Made(made).extend(told); }).empty());
  if (made.tokens.size() > told.tokens.size()) return;
  const std::string advice =
      fmt::format("truncate the index to {} tokens, then extend it", made.same(told));
  RC_ASSERT(why.find(advice) != std::string::npos);
  // The advice is good.
  Made mended(made);
  mended.truncate(made.same(told));
  RC_ASSERT(refusal([&] { mended.extend(told); }).empty());
  RC_ASSERT(same_bits(answer(mended.index, kv), answer(fresh(kv, mended.index.tokens()), kv)));
}

RC_GTEST_PROP(SieveIdentity, AnIndexAnswersForTheTokensGivenOrRefusesThem, ()) {
  std::array<Told, 2> told;
  Made made;
  int next = 0;
  told[0].append(*rc::gen::inRange(0, 700), next);
  made.extend(told[0]);
  const auto steps = *rc::gen::inRange(1, 25);
  for (int step = 0; step < steps; ++step) {
    Told& one = told[static_cast<std::size_t>(*rc::gen::inRange(0, 2))];
    Told& other = &one == told.data() ? told[1] : told[0];
    switch (*rc::gen::inRange(0, 9)) {
      case 0:
      case 1:
        one.append(*rc::gen::element(1, 28, 100, 128, 300), next);
        break;
      case 2:  // about as much as is indexed, more, or less
        one.truncate(std::clamp<std::int64_t>(made.index.tokens() + *rc::gen::inRange(-140, 140), 0,
                                              std::ssize(one.tokens)));
        break;
      case 3:
        one = other;
        break;
      case 4:
        std::swap(one, other);
        break;
      case 5:
        made.truncate(*rc::gen::inRange(0, 600));
        break;
      case 6: {
        Made copy(made);
        made = std::move(copy);
        break;
      }
      default:
        if (made.fits(one)) made.extend(one);
        break;
    }
    for (const Told& each : told) expect_answers_or_refusal(each, made);
  }
}

TEST(SieveIdentity, OtherTokensInPlaceOfIndexedOnesAreRefusedByWhatToCall) {
  Told told;
  Made made;
  int next = 0;
  told.append(700, next);
  made.extend(told);
  told.truncate(300);
  told.append(500, next);
  const char* why =
      "KV head 0 holds other tokens than the 640 that are indexed, from token 256 on: truncate the index "
      "to 256 "
      "tokens, then extend it";
  EXPECT_EQ(refusal([&] { (void)answer(made.index, told.store.heads()); }), why);
  EXPECT_EQ(refusal([&] { made.extend(told); }), why);
  EXPECT_EQ(refusal([&] { made.index.save("/nowhere/index", told.store.heads()); }), why);
  made.truncate(256);
  made.extend(told);
  EXPECT_TRUE(same_bits(answer(made.index, told.store.heads()),
                        answer(fresh(told.store.heads(), 768), told.store.heads())));
}

TEST(SieveIdentity, AnIndexFromAFileKnowsItsTokens) {
  Told told;
  int next = 0;
  told.append(300, next);
  const test::Folder folder;
  fresh(told.store.heads(), 256).save(folder / "i", told.store.heads());
  const Index loaded = Index::load(folder / "i", DType::f32, told.store.heads());
  (void)answer(loaded, told.store.heads());
  told.truncate(200);
  told.append(200, next);
  EXPECT_NE(refusal([&] { (void)answer(loaded, told.store.heads()); }), "");
}

TEST(SieveIdentity, HeadsOfDifferentStoresKeepTheirOwn) {
  Told a, b;
  int next = 0;
  a.append(256, next);
  b.append(256, next);
  const auto heads = [&] { return std::array{a.store.heads()[0], b.store.heads()[1]}; };
  const Index index = fresh(heads(), 256);
  (void)answer(index, heads());
  a.append(10, next);
  b.append(10, next);
  (void)answer(index, heads());
  b.truncate(255);
  b.append(11, next);
  EXPECT_EQ(refusal([&] { (void)answer(index, heads()); }),
            "KV head 1 holds other tokens than the 256 that are indexed, from token 128 on: truncate the "
            "index to "
            "128 tokens, then extend it");
}

TEST(SieveIdentity, PagesWithoutStampsAreTheirOwnersDuty) {
  std::vector<float> rows(2 * 256 * d);
  std::iota(rows.begin(), rows.end(), 0.0F);
  const PageTables lent(DType::f32, rows.data(), rows.data(), 2, 256, d, d);
  Told told;
  int next = 0;
  told.append(256, next);
  // Nobody can tell, in either direction, and what is not known is not refused.
  (void)answer(fresh(lent.heads(), 256), told.store.heads());
  (void)answer(fresh(told.store.heads(), 256), lent.heads());
  // What is known stays known beside it: the first block was made of the store's tokens.
  Index index = fresh(told.store.heads(), 128);
  Workspace workspace(1);
  index.extend(lent.heads(), workspace);
  (void)answer(index, told.store.heads());
  told.truncate(100);
  told.append(156, next);
  EXPECT_NE(refusal([&] { (void)answer(index, told.store.heads()); }), "");
}

}  // namespace
}  // namespace tamis::testing
