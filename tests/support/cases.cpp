#include "support/cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace tamis::test {
namespace {

void put(DType dtype, std::byte* at, float x) {
  if (dtype == DType::f32) {
    std::memcpy(at, &x, 4);
  } else {
    const std::uint16_t bits = dtype == DType::f16 ? to_f16(x).bits : to_bf16(x).bits;
    std::memcpy(at, &bits, 2);
  }
}

Case make(std::int64_t kv_heads, std::int64_t group, std::int64_t queries, std::int64_t d,
          std::int64_t d_v, std::int64_t tokens, DType dtype) {
  Case c;
  c.shape = {
      group * kv_heads, kv_heads, queries, d, d_v, dtype, 1.0F / std::sqrt(static_cast<float>(d))};
  c.tokens = tokens;
  return c;
}

}  // namespace

std::string name(const Case& c) {
  return fmt::format("{}_q{}x{}_kv{}_d{}x{}_n{}_{}{}{}{}{}{}{}", tamis::name_of(c.shape.dtype),
                     c.shape.query_heads, c.shape.queries, c.shape.kv_heads, c.shape.head_dim,
                     c.shape.value_dim, c.tokens, name_of(c.kind), c.causal ? "_causal" : "",
                     c.masked ? "_masked" : "", c.padded_rows ? "_padded" : "",
                     c.ragged ? "_ragged" : "",
                     c.hidden == 0 ? "" : fmt::format("_hidden{}", c.hidden),
                     c.seed == 0 ? "" : fmt::format("_seed{}", c.seed));
}

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << name(c); }

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  for (const DType dtype : dtypes) {
    // Head sizes, for few and for many queries.
    for (const std::int64_t d :
         {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 40, 64, 65, 80, 96, 127, 128, 192, 255, 256})
      for (const std::int64_t queries : {1, 13})
        cases.push_back(make(1, 1, queries, d, d, 137, dtype));
    cases.push_back(make(2, 2, 1, 1024, 1000, 130, dtype));
    cases.push_back(make(2, 2, 9, 192, 128, 200, dtype));  // keys and values of different sizes
    cases.push_back(make(2, 2, 2, 24, 200, 200, dtype));
    // Numbers of keys: none, one, around the sizes of pages and spans, several pages.
    for (const std::int64_t n :
         {0, 1, 2, 7, 127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025, 2500})
      for (const std::int64_t queries : {1, 20})
        cases.push_back(make(2, 2, queries, 24, 24, n, dtype));
    // Groups, with numbers of rows per KV head on both sides of the switch from decode to prefill.
    for (const std::int64_t group : {1, 2, 3, 4, 5, 8, 12})
      for (const std::int64_t queries : {1, 2, 3, 17})
        cases.push_back(make(3, group, queries, 32, 32, 300, dtype));
    // Groups with head sizes that leave a remainder after the vectors of every target.
    for (const std::int64_t group : {2, 3, 4, 7, 8})
      for (const std::int64_t d : {5, 17, 33, 80})
        cases.push_back(make(2, group, 1, d, d + 4, 150, dtype));
    // Masks across spans, and KV heads of different lengths.
    for (const std::int64_t queries : {1, 2, 3, 25}) {
      Case c = make(3, 2, queries, 40, 40, 2500, dtype);
      c.causal = true;
      cases.push_back(c);
      c.causal = false;
      c.masked = true;
      cases.push_back(c);
      c.masked = false;
      c.ragged = true;
      cases.push_back(c);
    }
    // Kinds of numbers, with and without masks.
    for (const Kind kind : {Kind::huge_logits, Kind::denormals, Kind::ties, Kind::one_hot,
                            Kind::outliers, Kind::zero_queries, Kind::normal})
      for (const std::int64_t queries : {1, 2, 40}) {
        Case c = make(2, 3, queries, 64, 64, 400, dtype);
        c.kind = kind;
        cases.push_back(c);
        c.causal = true;
        c.padded_rows = true;
        cases.push_back(c);
        c.causal = false;
        c.masked = true;
        cases.push_back(c);
      }
    for (const Kind kind : all_kinds().subspan(static_cast<std::size_t>(Kind::peaked))) {
      Case c = make(2, 3, 2, 64, 48, 400, dtype);
      c.kind = kind;
      c.causal = true;
      cases.push_back(c);
    }
    Case square = make(1, 2, 300, 16, 16, 300, dtype);  // a whole causal text
    square.causal = true;
    cases.push_back(square);
    Case negative = make(1, 4, 1, 64, 64, 300, dtype);
    negative.shape.scale = -0.5F;
    cases.push_back(negative);
    Case zero_scale = make(1, 4, 5, 64, 64, 300, dtype);
    zero_scale.shape.scale = 0.0F;
    cases.push_back(zero_scale);
  }
  return cases;
}

Problem::Problem(const Case& c) : shape_(c.shape), tokens_(c.tokens) {
  std::mt19937_64 random(std::hash<std::string>{}(name(c)));
  numbers_ = draw(c.kind, shape_, tokens_, random);
  const DType dtype = shape_.dtype;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };

  // Each page is allocated exactly as long as its tokens, so that a sanitizer sees any
  // read beyond it.
  const std::int64_t pages = (tokens_ + page_tokens - 1) / page_tokens;
  table_.resize(size(2 * shape_.kv_heads * pages));
  const auto add_pages = [&](std::int64_t first, const std::vector<float>& from, std::int64_t head,
                             std::int64_t dim, std::int64_t stride) {
    for (std::int64_t p = 0; p < pages; ++p) {
      const std::int64_t rows = std::min(page_tokens, tokens_ - p * page_tokens);
      const std::int64_t elements = (rows - 1) * stride + dim;
      pages_.push_back(std::make_unique<std::byte[]>(size(elements * size_of(dtype))));
      for (std::int64_t t = 0; t < rows; ++t)
        for (std::int64_t i = 0; i < dim; ++i)
          put(dtype, pages_.back().get() + (t * stride + i) * size_of(dtype),
              from[size(((head * tokens_) + p * page_tokens + t) * dim + i)]);
      table_[size(first + p)] = pages_.back().get();
    }
  };
  const std::int64_t k_stride = shape_.head_dim + (c.padded_rows ? 3 : 0);
  const std::int64_t v_stride = shape_.value_dim + (c.padded_rows ? 5 : 0);
  for (std::int64_t h = 0; h < shape_.kv_heads; ++h) {
    add_pages(2 * h * pages, numbers_.k, h, shape_.head_dim, k_stride);
    add_pages((2 * h + 1) * pages, numbers_.v, h, shape_.value_dim, v_stride);
    const void* const* first = table_.data() + 2 * h * pages;
    const std::int64_t fewer = c.ragged ? 300 * h : 0;
    heads_.push_back({first, first + pages, tokens_ - fewer, k_stride, v_stride});
  }
  for (std::int64_t i = 0; i < shape_.queries; ++i) {
    const std::int64_t visible = tokens_ - c.hidden;
    if (c.causal) {
      seen_.push_back(std::max<std::int64_t>(0, visible - shape_.queries + i + 1));
    } else if (c.masked) {
      seen_.push_back(
          i == 0 ? 0
                 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(visible + 1)));
    } else if (c.hidden > 0) {
      seen_.push_back(visible);
    }
  }
}

std::int64_t Problem::seen_by(std::int64_t row) const {
  const std::int64_t head = row / shape_.queries / shape_.group();
  return seen_.empty() ? heads_[static_cast<std::size_t>(head)].tokens
                       : seen_[static_cast<std::size_t>(row % shape_.queries)];
}

double Problem::largest_norm(const std::vector<float>& rows, std::int64_t dim, std::int64_t head,
                             std::int64_t keys) const {
  double largest = 0;
  for (std::int64_t t = 0; t < keys; ++t) {
    double squares = 0;
    for (std::int64_t c = 0; c < dim; ++c) {
      const double x = rows[static_cast<std::size_t>((head * tokens_ + t) * dim + c)];
      squares += x * x;
    }
    largest = std::max(largest, std::sqrt(squares));
  }
  return largest;
}

Rounding Problem::bound(std::int64_t row) const {
  const std::int64_t head = row / shape_.queries / shape_.group();
  const std::int64_t keys = seen_by(row);
  double squares = 0;
  for (const float x : q().row(row)) squares += static_cast<double>(x) * x;
  // Norms and reference are computed in f64; a factor of 1 + 1e-12 more than
  // covers their rounding.
  constexpr double up = 1 + 1e-12;
  return attention_rounding(shape_, keys, std::sqrt(squares) * up,
                            largest_norm(numbers_.k, shape_.head_dim, head, keys) * up,
                            largest_norm(numbers_.v, shape_.value_dim, head, keys) * up);
}

Answer reference_answer(const Problem& problem) {
  const Shape& shape = problem.shape();
  Answer answer;
  answer.out.resize(static_cast<std::size_t>(shape.rows() * shape.value_dim));
  answer.lse.resize(static_cast<std::size_t>(shape.rows()));
  reference(shape, problem.q(), problem.kv(), problem.seen(),
            {answer.out.data(), shape.rows(), shape.value_dim}, answer.lse);
  return answer;
}

void expect_within_bound(const Problem& problem, const Answer& reference,
                         std::span<const float> out, std::span<const float> lse) {
  const Shape& shape = problem.shape();
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const auto d_v = static_cast<std::size_t>(shape.value_dim);
    if (problem.seen_by(row) == 0) {
      EXPECT_EQ(lse[r], -std::numeric_limits<float>::infinity());
      for (std::size_t c = 0; c < d_v; ++c) EXPECT_EQ(out[r * d_v + c], 0.0F);
      continue;
    }
    const Rounding bound = problem.bound(row);
    double squares = 0;
    for (std::size_t c = 0; c < d_v; ++c) {
      const double off = static_cast<double>(out[r * d_v + c]) - reference.out[r * d_v + c];
      squares += off * off;
    }
    ASSERT_LE(std::sqrt(squares), bound.error) << "row " << row;
    ASSERT_LE(std::abs(static_cast<double>(lse[r]) - reference.lse[r]), bound.lse) << "row " << row;
  }
}

}  // namespace tamis::test
