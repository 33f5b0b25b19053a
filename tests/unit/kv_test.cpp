// KvStore: what is appended can be read back, pages stay where they are, and bad rows change nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <tamis/error.h>
#include <tamis/kv.h>

namespace tamis {
namespace {

float element_at(DType dtype, const void* page, std::int64_t i) {
  switch (dtype) {
    case DType::f16:
      return to_float(static_cast<const f16*>(page)[i]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(page)[i]);
    default:
      return static_cast<const float*>(page)[i];
  }
}

/// A value that says where it belongs and is exact in every dtype used (|x| ≤ 256 integers).
float mark(std::int64_t head, std::int64_t token, std::int64_t c) {
  return static_cast<float>((token * 7 + head * 31 + c * 3) % 251);
}

void append_marked(KvStore& store, std::int64_t count) {
  const std::int64_t heads = store.kv_heads();
  std::vector<float> k;
  std::vector<float> v;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t c = 0; c < store.head_dim(); ++c) k.push_back(mark(h, store.tokens() + t, c));
      for (std::int64_t c = 0; c < store.value_dim(); ++c) v.push_back(-mark(h, store.tokens() + t, c));
    }
  store.append({k.data(), heads * count, store.head_dim()}, {v.data(), heads * count, store.value_dim()});
}

void expect_marked(const KvStore& store) {
  for (std::int64_t h = 0; h < store.kv_heads(); ++h)
    for (std::int64_t t = 0; t < store.tokens(); ++t) {
      const KvPages& pages = store.heads()[static_cast<std::size_t>(h)];
      const std::int64_t row = t % page_tokens;
      for (std::int64_t c = 0; c < store.head_dim(); ++c)
        ASSERT_EQ(element_at(store.dtype(), pages.k[t / page_tokens], row * pages.k_stride + c),
                  mark(h, t, c));
      for (std::int64_t c = 0; c < store.value_dim(); ++c)
        ASSERT_EQ(element_at(store.dtype(), pages.v[t / page_tokens], row * pages.v_stride + c),
                  -mark(h, t, c));
    }
}

RC_GTEST_PROP(KvStore, HoldsWhatWasAppendedThroughAnySequenceOfAppendsAndTruncations, ()) {
  const auto dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16);
  KvStore store(dtype, *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 9));
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-300, 500))) {
    if (step >= 0) {
      append_marked(store, step);
    } else {
      store.truncate(std::max<std::int64_t>(0, store.tokens() + step));
    }
  }
  expect_marked(store);
  const KvStore copy(store);
  store.truncate(0);
  append_marked(store, 5);
  expect_marked(copy);
}

TEST(KvStore, PagesDoNotMoveWhenItGrows) {
  KvStore store(DType::bf16, 2, 16, 16);
  append_marked(store, 1);
  const void* first = store.heads()[1].k[0];
  for (int i = 0; i < 3000; ++i) append_marked(store, 1);
  EXPECT_EQ(store.heads()[1].k[0], first);
  expect_marked(store);
}

TEST(KvStore, ValuesThatAreNotFiniteInItsTypeAreRefusedAndChangeNothing) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const float bad : {inf, -inf, std::nanf(""), dtype == DType::f32 ? inf : 3.4e38F}) {
      KvStore store(dtype, 2, 3, 2);
      append_marked(store, 130);
      std::vector<float> k(2 * 3 * 4, 1.0F);
      std::vector<float> v(2 * 2 * 4, 1.0F);
      v[5] = bad;
      EXPECT_THROW(store.append({k.data(), 8, 3}, {v.data(), 8, 2}), Error);
      EXPECT_EQ(store.tokens(), 130);
      expect_marked(store);
    }
  const std::uint16_t nan_bits = 0x7FFF;
  const std::uint16_t one = 0x3F80;
  KvStore store(DType::bf16, 1, 1, 1);
  EXPECT_THROW(store.append(&nan_bits, &one, 1), Error);
  EXPECT_THROW(store.append(&one, &nan_bits, 1), Error);
  store.append(&one, &one, 1);
  EXPECT_EQ(store.tokens(), 1);
}

TEST(KvStore, RawRowsAreAppendedHeadByHead) {
  KvStore store(DType::f32, 3, 2, 1);
  append_marked(store, 126);
  std::vector<float> k;
  std::vector<float> v;
  for (std::int64_t h = 0; h < 3; ++h)
    for (std::int64_t t = 126; t < 131; ++t) {
      for (std::int64_t c = 0; c < 2; ++c) k.push_back(mark(h, t, c));
      v.push_back(-mark(h, t, 0));
    }
  store.append(k.data(), v.data(), 5);
  EXPECT_EQ(store.tokens(), 131);
  expect_marked(store);
}

TEST(KvStore, WrongShapesAreRefused) {
  EXPECT_THROW(KvStore(DType::i8, 1, 1, 1), Error);
  EXPECT_THROW(KvStore(DType::f32, 0, 1, 1), Error);
  KvStore store(DType::f32, 2, 3, 3);
  const std::vector<float> x(64, 1.0F);
  EXPECT_THROW(store.append({x.data(), 3, 3}, {x.data(), 3, 3}), Error);
  EXPECT_THROW(store.append({x.data(), 4, 2}, {x.data(), 4, 3}), Error);
  EXPECT_THROW(store.append({x.data(), 4, 3}, {x.data(), 2, 3}), Error);
  EXPECT_THROW(store.append({x.data(), -2, 3}, {x.data(), -2, 3}), Error);
  EXPECT_THROW(store.append({x.data(), 2, 3, 1}, {x.data(), 2, 3}), Error);
  EXPECT_THROW(store.append(nullptr, x.data(), 1), Error);
  EXPECT_THROW(store.truncate(1), Error);
  EXPECT_THROW(store.truncate(-1), Error);
}

}  // namespace
}  // namespace tamis
