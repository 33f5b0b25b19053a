// The parts of `decode`, for callers that provide the pages themselves. They handle a few rows of
// one KV head, whose sums grow page by page in spans of 1024 keys; spans are merged in order.
#pragma once

#include "attention/dense.h"
#include "attention/pages.h"

namespace tamis::attention {

inline constexpr std::int64_t span_pages = 8;
inline constexpr std::int64_t span_keys = span_pages * page_tokens;

/// Sizes and strides for up to decode_rows rows.
struct FewRows {
  std::int64_t rows;
  std::int64_t q_stride;  ///< padded head size
  std::int64_t o_stride;  ///< padded value size

  // Sizes in floats: the scaled queries, the sums of a span, and the scratch memory of a page.
  [[nodiscard]] std::int64_t query_floats() const { return rows * q_stride; }
  [[nodiscard]] std::int64_t sum_floats() const { return rows * (o_stride + 2); }
  [[nodiscard]] std::int64_t page_floats() const { return rows * (page_tokens + o_stride); }
};
FewRows few_rows(const DenseCall& call);

/// m, l and o of each row; o is in the channel order of the kernels.
struct FewSums {
  float* m;
  float* l;
  float* o;
};
FewSums few_sums(const FewRows& few, float* memory);

/// A range of memory to prefetch, possibly empty. `from` must be a valid address even then, as the
/// kernels prefetch it without looking at `bytes`.
struct Stretch {
  const void* from;
  std::int64_t bytes;
};

void scale_queries(const DenseCall& call, const FewRows& few, std::int64_t kv_head, float* scaled);
/// Sets the sums to those of no keys.
void begin(const FewRows& few, const FewSums& sums);
/// Adds a page to the sums. Row r sees the first sees[r] keys of the page: none if it is negative,
/// at most all. Writes the row's weights, relative to the new sums.m[r], to row r of the first
/// rows × 128 floats of the scratch memory. Prefetches `next`.
void add_page(const DenseCall& call, const FewRows& few, const float* scaled, const Page& page,
              const std::int64_t* sees, const Stretch& next, float* scratch, const FewSums& sums);
/// Adds `from` to `into`.
void merge(const FewRows& few, const FewSums& into, const FewSums& from);
/// Copies the sums to the rows of `states`, in the order of channels of the caller.
void hand_out(const DenseCall& call, const FewRows& few, std::int64_t kv_head, const FewSums& sums,
              const SoftmaxStates& states);

}  // namespace tamis::attention
