#include "attend/rounding.h"

#include <algorithm>
#include <cmath>

namespace tamis::cli {
namespace {

/// ‖x‖₂, at least: the sum of squares errs by less than (dim + 1)·2⁻⁵³, its root by half of that
/// plus one rounding, and neither overflows nor vanishes for f32 elements.
template <class Element>
double norm_above(const Element* x, std::int64_t dim) {
  double sum = 0;
  for (std::int64_t c = 0; c < dim; ++c) {
    const double value = to_float(x[c]);
    sum += value * value;
  }
  return std::sqrt(sum) * (1 + static_cast<double>(dim + 4) * 0x1p-53);
}

/// Entry t is the largest norm of rows 0 … t.
template <class Element>
std::vector<double> largest_norms(const Element* rows, std::int64_t tokens, std::int64_t dim) {
  std::vector<double> largest(static_cast<std::size_t>(tokens));
  double so_far = 0;
  for (std::int64_t t = 0; t < tokens; ++t)
    largest[static_cast<std::size_t>(t)] = so_far =
        std::max(so_far, norm_above(rows + t * dim, dim));
  return largest;
}

std::vector<double> largest_norms(const lab::Tensor& tensor, std::int64_t head, std::int64_t tokens,
                                  std::int64_t dim) {
  const DType dtype = tensor.info().dtype;
  const void* rows = tensor.bytes().data() + head * tokens * dim * size_of(dtype);
  switch (dtype) {
    case DType::f16:
      return largest_norms(static_cast<const f16*>(rows), tokens, dim);
    case DType::bf16:
      return largest_norms(static_cast<const bf16*>(rows), tokens, dim);
    default:
      return largest_norms(static_cast<const float*>(rows), tokens, dim);
  }
}

}  // namespace

std::vector<Rounding> layer_rounding(const lab::Trace& trace, const lab::TraceLayer& layer,
                                     const lab::LayerData& data) {
  const Shape& shape = layer.shape;
  std::vector<Rounding> roundings;
  roundings.reserve(static_cast<std::size_t>(shape.rows()));
  std::vector<double> key_norms;
  std::vector<double> value_norms;
  for (std::int64_t head = 0; head < shape.query_heads; ++head) {
    if (head % shape.group() == 0) {
      key_norms = largest_norms(data.k, head / shape.group(), trace.tokens(), shape.head_dim);
      value_norms = largest_norms(data.v, head / shape.group(), trace.tokens(), shape.value_dim);
    }
    for (std::int64_t i = 0; i < shape.queries; ++i) {
      const float* q = data.q.data() + (head * shape.queries + i) * shape.head_dim;
      const std::int64_t keys = trace.seen()[static_cast<std::size_t>(i)];
      const auto last = static_cast<std::size_t>(keys - 1);
      roundings.push_back(attention_rounding(shape, keys, norm_above(q, shape.head_dim),
                                             key_norms[last], value_norms[last]));
    }
  }
  return roundings;
}

}  // namespace tamis::cli
