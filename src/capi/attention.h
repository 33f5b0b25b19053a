// Arguments of attention calls, from C to C++.
#pragma once

#include <tamis/attention.h>

#include <vector>

#include "capi/call.h"

struct tamis_workspace {
  explicit tamis_workspace(int threads) : workspace(threads) {}
  tamis::Workspace workspace;
  std::vector<tamis::KvPages> heads;  // kept between calls, so that they allocate nothing
};

namespace tamis::capi {

/// Bytes of the first published version: a caller that gives less has set no size.
inline constexpr std::size_t shape_size = 56;

/// Throws `usage` unless rows() and the arrays it implies have sizes that memory can have.
Shape shape_of(const tamis_shape* shape);
tamis_shape to_c(const Shape& shape);

/// A matrix of `rows` contiguous rows, null only if it has none.
template <class T>
View<T> matrix(T* data, std::int64_t rows, std::int64_t cols, const char* name) {
  required(data, extent({rows, cols, sizeof(T)}, name), name);
  return {data, rows, cols};
}

/// Fills `heads`; throws `usage` for a null table or page.
void read_pages(const Shape& shape, const tamis_kv_pages* kv, std::vector<KvPages>& heads);

inline std::span<const std::int64_t> seen_of(const Shape& shape, const int64_t* seen) {
  if (seen == nullptr) return {};
  return {seen, static_cast<std::size_t>(shape.queries)};
}

}  // namespace tamis::capi
