// Checks of the arguments of every entry point of src/attention.
#pragma once

#include <span>

#include <tamis/attention.h>
#include "core/fail.h"
#include "core/inside.h"

namespace tamis::attention {

/// Beyond any real memory, and small enough that no product of sizes overflows. The cache has the
/// same limit on tokens, and a lower one on heads.
inline constexpr std::int64_t most_heads = std::int64_t{1} << 20;
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

/// Throws `usage` if a matrix that has rows has a null pointer.
template <class T>
void check_not_null(const char* name, View<T> matrix) {
  if (matrix.data == nullptr && matrix.rows > 0)
    core::fail(Code::usage, "{} is null; it must have {} rows", name, matrix.rows);
}

/// Throws `usage` unless both head sizes lie in 1 … largest_dim.
void check_head_sizes(const Shape& shape);
/// Throws `usage` unless keys and values can have this type.
void check_kv_dtype(DType dtype);
/// Throws `usage` if a KV head's pages are known to hold another type.
void check_dtype(DType dtype, const KvPages& pages, std::size_t head);
/// Throws `usage`, naming the argument, unless shape, q, kv and seen fit together.
TAMIS_INSIDE void check_arguments(const Shape& shape, View<const float> q,
                                  std::span<const KvPages> kv, std::span<const std::int64_t> seen);
/// Throws `usage` unless a result of shape.rows() rows of value_dim fits `o` and `scalars`.
template <class T>
void check_result(const Shape& shape, View<T> o, std::size_t scalars);

/// The number of keys that query i sees on a KV head.
inline std::int64_t keys_seen(std::span<const std::int64_t> seen, std::int64_t i,
                              const KvPages& kv) {
  return seen.empty() ? kv.tokens : seen[static_cast<std::size_t>(i)];
}

}  // namespace tamis::attention
