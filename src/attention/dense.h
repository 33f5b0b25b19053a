// The two implementations of dense attention, for few and for many queries per KV head.
#pragma once

#include <cstdint>
#include <span>

#include <tamis/attention.h>

#include "core/inside.h"
#include "kernels/kernels.h"

namespace tamis::attention {

/// `decode` is used up to this number of rows per KV head. Above it a tile of queries is full
/// enough that the arithmetic, not the reading of K and V, sets the time.
inline constexpr std::int64_t decode_rows = 8;

/// One call with its arguments checked.
struct DenseCall {
  const Shape& shape;
  View<const float> q;
  std::span<const KvPages> kv;
  std::span<const std::int64_t> seen;
  const kernels::Kernels& kernels;
  kernels::KvType type;
  float factor;  ///< scale·log₂e, folded into the queries, so that logits are exponents of 2
};

/// Selects the kernels that read keys and values of this type.
inline kernels::KvType kv_type(DType dtype) {
  return dtype == DType::f32   ? kernels::kv_f32
         : dtype == DType::f16 ? kernels::kv_f16
                               : kernels::kv_bf16;
}

/// Row r of those that share a KV head. Rows are ordered by query first, so that neighbours see
/// about as many keys: row r is query r / group of head r % group of the group.
struct Row {
  std::int64_t query;
  std::int64_t index;  ///< the row's index in q and in the results
};
inline Row row_of(const Shape& shape, std::int64_t kv_head, std::int64_t r) {
  const std::int64_t query = r / shape.group();
  const std::int64_t head = kv_head * shape.group() + r % shape.group();
  return {query, head * shape.queries + query};
}

/// Builds the call; the arguments must have been checked.
TAMIS_INSIDE DenseCall dense_call(const Shape& shape, View<const float> q,
                                  std::span<const KvPages> kv, std::span<const std::int64_t> seen);

void decode(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states);
void prefill(const DenseCall& call, Workspace::Impl& workspace, const SoftmaxStates& states);

inline std::int64_t round_up(std::int64_t x, std::int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

}  // namespace tamis::attention
