// Converts the arguments of attention calls from C to C++.
#pragma once

#include <tamis/attention.h>

#include <vector>

#include "attention/workspace.h"
#include "capi/call.h"
#include "capi/workspace.h"
#include "core/inside.h"

namespace tamis::capi {

/// The size of tamis_shape in its first published version; a smaller `size` was never set.
inline constexpr std::size_t shape_size = 56;

/// Throws `usage` unless rows() and the arrays of that many rows could fit memory.
Shape shape_of(const tamis_shape* shape);
TAMIS_INSIDE tamis_shape to_c(const Shape& shape);

/// A matrix of `rows` contiguous rows. `data` may be null only if there are none.
template <class T>
View<T> matrix(T* data, std::int64_t rows, std::int64_t cols, const char* name) {
  required(data, extent({rows, cols, sizeof(T)}, name), name);
  return {data, rows, cols};
}

/// Fills `heads`. Throws `usage` for a null table or a null page.
void read_pages(std::int64_t kv_heads, const tamis_kv_pages* kv, std::vector<KvPages>& heads);

inline std::span<const std::int64_t> seen_of(const Shape& shape, const int64_t* seen) {
  if (seen == nullptr) return {};
  return {seen, static_cast<std::size_t>(shape.queries)};
}

}  // namespace tamis::capi
