// What `decode` does with a page, for whoever brings the pages: a few rows of one KV head, whose
// sums grow page by page in spans of 1024 keys, and spans are merged in order.
#pragma once

#include "attention/dense.h"
#include "attention/pages.h"

namespace tamis::attention {

inline constexpr std::int64_t span_pages = 8;
inline constexpr std::int64_t span_keys = span_pages * page_tokens;

/// Up to decode_rows rows, and how far apart they lie.
struct FewRows {
  std::int64_t rows;
  std::int64_t q_stride;  ///< padded head size
  std::int64_t o_stride;  ///< padded value size

  // Floats of scaled queries, of the sums of a span, and of what a page needs while it is added.
  [[nodiscard]] std::int64_t query_floats() const { return rows * q_stride; }
  [[nodiscard]] std::int64_t sum_floats() const { return rows * (o_stride + 2); }
  [[nodiscard]] std::int64_t page_floats() const { return rows * (page_tokens + o_stride); }
};
FewRows few_rows(const DenseCall& call);

/// m, l and o of each row, o in the order of the kernels.
struct FewSums {
  float* m;
  float* l;
  float* o;
};
FewSums few_sums(const FewRows& few, float* memory);

/// What is prefetched: a stretch of memory, or nothing. `from` is an address in use even then: the
/// kernels prefetch it without looking at `bytes`.
struct Stretch {
  const void* from;
  std::int64_t bytes;
};

void scale_queries(const DenseCall& call, const FewRows& few, std::int64_t kv_head, float* scaled);
/// Sums over no keys.
void begin(const FewRows& few, const FewSums& sums);
/// Row r sees the first sees[r] keys of the page (none if it is negative, at most all of them).
/// Leaves its weights, relative to the m that it leaves, in row r of the first rows × 128 floats of
/// the scratch.
void add_page(const DenseCall& call, const FewRows& few, const float* scaled, const Page& page,
              const std::int64_t* sees, const Stretch& next, float* scratch, const FewSums& sums);
/// The sums of both.
void merge(const FewRows& few, const FewSums& into, const FewSums& from);
void hand_out(const DenseCall& call, const FewRows& few, std::int64_t kv_head, const FewSums& sums,
              const SoftmaxStates& states);

}  // namespace tamis::attention
