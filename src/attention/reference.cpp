// The reference: attention of queries over pages in f64, one key at a time, on the calling thread.
// It takes O(rows·tokens·d) time and 8·tokens·(d + d_v) bytes, for K and V of one head as doubles.
#include <cmath>
#include <limits>
#include <vector>

#include "attention/check.h"

namespace tamis {
namespace {

double element(DType dtype, const void* row, std::int64_t c) {
  switch (dtype) {
    case DType::f16:
      return to_float(static_cast<const f16*>(row)[c]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(row)[c]);
    default:
      return static_cast<const float*>(row)[c];
  }
}

/// Rows 0 … tokens − 1 of K or V as doubles.
std::vector<double> gather(DType dtype, const void* const* pages, std::int64_t stride,
                           std::int64_t tokens, std::int64_t dim) {
  std::vector<double> rows(static_cast<std::size_t>(tokens * dim));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto* page = static_cast<const char*>(pages[t / page_tokens]);
    const void* row = page + (t % page_tokens) * stride * size_of(dtype);
    for (std::int64_t c = 0; c < dim; ++c)
      rows[static_cast<std::size_t>(t * dim + c)] = element(dtype, row, c);
  }
  return rows;
}

void attend_row(const Shape& shape, std::span<const float> q, const double* k, const double* v,
                std::int64_t keys, std::span<double> out, double& lse) {
  std::vector<double> weight(static_cast<std::size_t>(keys));
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < weight.size(); ++j) {
    double dot = 0;
    for (std::size_t c = 0; c < q.size(); ++c)
      dot += static_cast<double>(q[c]) * k[j * q.size() + c];
    weight[j] = static_cast<double>(shape.scale) * dot;
    top = std::fmax(top, weight[j]);
  }
  double total = 0;
  for (double& w : weight) total += w = std::exp(w - top);
  lse = keys == 0 ? -std::numeric_limits<double>::infinity() : top + std::log(total);
  for (double& x : out) x = 0;
  for (std::size_t j = 0; j < weight.size(); ++j)
    for (std::size_t c = 0; c < out.size(); ++c)
      out[c] += weight[j] / total * v[j * out.size() + c];
}

}  // namespace

void reference(const Shape& shape, View<const float> q, std::span<const KvPages> kv,
               std::span<const std::int64_t> seen, View<double> out, std::span<double> lse) {
  attention::check_arguments(shape, q, kv, seen);
  attention::check_result(shape, out, lse.size());
  for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
    const KvPages& head = kv[static_cast<std::size_t>(h)];
    const auto k = gather(shape.dtype, head.k, head.k_stride, head.tokens, shape.head_dim);
    const auto v = gather(shape.dtype, head.v, head.v_stride, head.tokens, shape.value_dim);
    const std::int64_t first = h * shape.group() * shape.queries;
    for (std::int64_t r = first; r < first + shape.group() * shape.queries; ++r) {
      const std::int64_t keys = attention::keys_seen(seen, r % shape.queries, head);
      attend_row(shape, q.row(r), k.data(), v.data(), keys, out.row(r),
                 lse[static_cast<std::size_t>(r)]);
    }
  }
}

}  // namespace tamis
