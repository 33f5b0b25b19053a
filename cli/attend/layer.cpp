#include "attend/layer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <span>

#include "attend/blocks.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

/// Enough rows for full tiles on every core, few enough for seconds between two looks at Ctrl-C.
constexpr std::int64_t rows_per_call = 8192;

/// ‖x‖₂, at least: the sum of squares errs by less than (dim + 1)·2⁻⁵³, its root by half of that plus
/// one rounding, and neither overflows nor vanishes for f32 elements.
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
    largest[static_cast<std::size_t>(t)] = so_far = std::max(so_far, norm_above(rows + t * dim, dim));
  return largest;
}

std::vector<double> largest_norms(const Tensor& tensor, std::int64_t head, std::int64_t tokens,
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

void certify(const Trace& trace, const LayerData& data, LayerResult& result) {
  const Shape& shape = result.layer.shape;
  const std::int64_t key_bytes = (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
  std::vector<double> key_norms;
  std::vector<double> value_norms;
  for (std::int64_t head = 0; head < shape.query_heads; ++head) {
    if (head % shape.group() == 0) {
      key_norms = largest_norms(data.k, head / shape.group(), trace.tokens(), shape.head_dim);
      value_norms = largest_norms(data.v, head / shape.group(), trace.tokens(), shape.value_dim);
    }
    for (std::int64_t i = 0; i < shape.queries; ++i) {
      const std::int64_t row = head * shape.queries + i;
      const std::int64_t keys = trace.seen()[static_cast<std::size_t>(i)];
      const auto last = static_cast<std::size_t>(keys - 1);
      const double query_norm = norm_above(data.q.data() + row * shape.head_dim, shape.head_dim);
      const Rounding rounding =
          attention_rounding(shape, keys, query_norm, key_norms[last], value_norms[last]);
      result.tau.push_back(rounding.tau);
      result.error.push_back(rounding.error);
      result.lse_error.push_back(rounding.lse);
      result.keys.push_back(keys);
      result.bytes.push_back(keys * key_bytes);
    }
  }
}

}  // namespace

double pairs_of(const Trace& trace, const TraceLayer& layer) {
  return static_cast<double>(layer.shape.query_heads) *
         std::accumulate(trace.seen().begin(), trace.seen().end(), 0.0);
}

LayerResult attend_layer(const Trace& trace, const TraceLayer& layer, const LayerData& data,
                         Workspace& workspace, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Shape& shape = layer.shape;
  LayerResult result;
  result.layer = layer;
  result.out.resize(static_cast<std::size_t>(shape.rows() * shape.value_dim));
  result.lse.resize(static_cast<std::size_t>(shape.rows()));
  const PageTables pages(shape.dtype, data.k.bytes().data(), data.v.bytes().data(), shape.kv_heads,
                         trace.tokens(), shape.head_dim, shape.value_dim);
  const View<const float> q(data.q.data(), shape.rows(), shape.head_dim);
  const View<float> out(result.out.data(), shape.rows(), shape.value_dim);
  progress.enter(attention_stage);
  for (const Block& block : blocks_of(shape, rows_per_call)) {
    stop_if_interrupted();
    const std::int64_t rows = block.shape.rows();
    const auto begin = Clock::now();
    dense(
        block.shape, q.middle_rows(block.row, rows), block.kv(pages.heads()), block.seen(trace.seen()),
        workspace, out.middle_rows(block.row, rows),
        std::span(result.lse).subspan(static_cast<std::size_t>(block.row), static_cast<std::size_t>(rows)));
    result.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    progress.advance(pairs_of(trace, layer) * static_cast<double>(rows) /
                     static_cast<double>(shape.rows()));
  }
  certify(trace, data, result);
  return result;
}

}  // namespace tamis::cli
