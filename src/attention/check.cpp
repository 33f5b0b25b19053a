#include "attention/check.h"

#include <cmath>

#include "core/fail.h"

namespace tamis::attention {
namespace {

template <class T>
void check_view(const char* name, View<T> view, std::int64_t rows, std::int64_t cols) {
  if (view.rows != rows || view.cols != cols || view.stride < view.cols)
    core::fail(Code::usage, "{} is {} × {} with stride {}; it must be {} × {}", name, view.rows,
               view.cols, view.stride, rows, cols);
  check_not_null(name, view);
}

}  // namespace

void check_head_sizes(const Shape& shape) {
  if (shape.head_dim < 1 || shape.head_dim > largest_dim || shape.value_dim < 1 ||
      shape.value_dim > largest_dim)
    core::fail(Code::usage, "head sizes {} (keys) and {} (values): both must lie in 1 … {}",
               shape.head_dim, shape.value_dim, largest_dim);
}

void check_kv_dtype(DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    core::fail(Code::usage, "keys and values of dtype {}: it must be f32, f16 or bf16",
               name_of(dtype));
}

void check_dtype(DType dtype, const KvPages& pages, std::size_t head) {
  if (pages.dtype && *pages.dtype != dtype)
    core::fail(Code::usage, "KV head {} holds {}, not {} as the call says", head,
               name_of(*pages.dtype), name_of(dtype));
}

void check_arguments(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
                     std::span<const std::int64_t> seen) {
  if (shape.kv_heads < 1 || shape.query_heads < 1 || shape.query_heads % shape.kv_heads != 0)
    core::fail(Code::usage,
               "{} query heads over {} KV heads: both must be positive and the first a multiple of "
               "the second",
               shape.query_heads, shape.kv_heads);
  if (shape.query_heads > most_heads)
    core::fail(Code::usage, "{} query heads: at most {} are possible", shape.query_heads,
               most_heads);
  if (shape.queries < 0 || shape.queries > most_tokens)
    core::fail(Code::usage, "queries is {}; it must lie in 0 … {}", shape.queries, most_tokens);
  check_head_sizes(shape);
  check_kv_dtype(shape.dtype);
  if (!std::isfinite(shape.scale))
    core::fail(Code::usage, "scale is {}; it must be finite", shape.scale);
  check_view("q", q, shape.rows(), shape.head_dim);
  if (static_cast<std::int64_t>(kv.size()) != shape.kv_heads)
    core::fail(Code::usage, "{} page tables were given for {} KV heads", kv.size(), shape.kv_heads);
  if (!seen.empty() && static_cast<std::int64_t>(seen.size()) != shape.queries)
    core::fail(Code::usage, "seen has {} entries for {} queries; it must have one each or be empty",
               seen.size(), shape.queries);
  for (std::size_t h = 0; h < kv.size(); ++h) {
    const KvPages& head = kv[h];
    check_dtype(shape.dtype, head, h);
    if (head.tokens < 0 || head.tokens > most_tokens)
      core::fail(Code::usage, "KV head {} has {} tokens; they must lie in 0 … {}", h, head.tokens,
                 most_tokens);
    if (head.tokens > 0 && (head.k == nullptr || head.v == nullptr))
      core::fail(Code::usage, "KV head {} has tokens but a null page table", h);
    if (head.tokens > 0 && (head.k_stride < shape.head_dim || head.v_stride < shape.value_dim))
      core::fail(Code::usage,
                 "KV head {} has strides {} and {}, less than the head sizes {} and {}", h,
                 head.k_stride, head.v_stride, shape.head_dim, shape.value_dim);
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i] < 0 || seen[i] > head.tokens)
        core::fail(Code::usage, "query {} sees {} keys; KV head {} has {}", i, seen[i], h,
                   head.tokens);
  }
}

template <class T>
void check_result(const Shape& shape, View<T> o, std::size_t scalars) {
  check_view("the output", o, shape.rows(), shape.value_dim);
  if (static_cast<std::int64_t>(scalars) != shape.rows())
    core::fail(Code::usage, "{} values per row were given where {} rows need one each", scalars,
               shape.rows());
}

template void check_result(const Shape&, View<float>, std::size_t);
template void check_result(const Shape&, View<double>, std::size_t);

}  // namespace tamis::attention
