#include "attend/replay.h"

#include <algorithm>
#include <chrono>

#include "attend/blocks.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Sequence sequence = 0;

Heads heads_of(const Shape& shape) {
  return {shape.query_heads, shape.kv_heads, shape.head_dim, shape.value_dim, shape.scale};
}

CacheOptions cache_options(const Shape& shape, int bits) {
  CacheOptions options;
  options.bits = bits;
  options.dtype = shape.dtype;
  return options;
}

/// Returns the rows of a tensor [kv_heads, tokens, dim] from token `first` on.
Rows rows_from(const lab::Tensor& tensor, std::int64_t first) {
  const auto& shape = tensor.info().shape;
  const DType dtype = tensor.info().dtype;
  const std::int64_t dim = shape[2];
  return {tensor.bytes().data() + first * dim * size_of(dtype), dtype, dim, shape[1] * dim};
}

std::vector<std::int64_t> order_of(std::span<const std::int64_t> seen) {
  std::vector<std::int64_t> order(seen.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::int64_t i) { return seen[static_cast<std::size_t>(i)]; });
  return order;
}

/// A cache to which the tokens of a layer are appended.
class Growing {
 public:
  Growing(const lab::LayerData& data, const Shape& shape, int bits)
      : data_(data), cache_(heads_of(shape), cache_options(shape, bits)) {
    cache_.add(sequence);
  }

  /// Appends tokens until the cache holds `tokens`, and returns how many were appended.
  std::int64_t grow(std::int64_t tokens, Workspace& workspace) {
    const std::int64_t before = cache_.tokens(sequence);
    for (std::int64_t at = before; at < tokens; at = cache_.tokens(sequence)) {
      if (at % 256 == 0) stop_if_interrupted();
      const std::int64_t count = before == 0 ? std::min(tokens_per_call, tokens - at) : 1;
      cache_.append({&sequence, 1}, {&count, 1}, rows_from(data_.k, at), rows_from(data_.v, at),
                    workspace);
    }
    return std::max<std::int64_t>(0, tokens - before);
  }
  [[nodiscard]] const Cache& cache() const { return cache_; }

 private:
  const lab::LayerData& data_;
  Cache cache_;
};

}  // namespace

LayerResult replay(const lab::Trace& trace, const lab::TraceLayer& layer,
                   const lab::LayerData& data, std::span<const Budget> budgets,
                   const ReplayOptions& options, Workspace& workspace, Progress& progress) {
  const Shape& shape = layer.shape;
  const auto rows = static_cast<std::size_t>(shape.rows());
  const auto heads = static_cast<std::size_t>(shape.query_heads);
  LayerResult result;
  result.layer = layer;
  result.bits = options.bits;
  result.out.resize(rows * static_cast<std::size_t>(shape.value_dim));
  result.lse.resize(rows);
  result.certificates.resize(rows);
  std::vector<float> lse(heads);
  std::vector<Certificate> certificates(heads);
  Growing growing(data, shape, options.bits);
  for (const std::int64_t query : order_of(trace.seen())) {
    stop_if_interrupted();
    const std::int64_t seen = trace.seen()[static_cast<std::size_t>(query)];
    progress.enter(append_stage);
    auto begin = Clock::now();
    const std::int64_t appended = growing.grow(seen, workspace);
    result.append_seconds += seconds_since(begin);
    progress.advance(static_cast<double>(appended * shape.kv_heads));

    progress.enter(attention_stage);
    const std::int64_t one = 1;
    const Plan plan(growing.cache(), {{&sequence, 1}, {&one, 1}, {}});
    begin = Clock::now();
    tamis::attend(growing.cache(), plan,
                  {data.q.data() + query * shape.head_dim, DType::f32, shape.head_dim,
                   shape.queries * shape.head_dim},
                  budgets, options.attend, workspace,
                  {{result.out.data() + query * shape.value_dim, DType::f32, shape.value_dim,
                    shape.queries * shape.value_dim},
                   lse,
                   certificates});
    result.seconds += seconds_since(begin);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t row =
          h * static_cast<std::size_t>(shape.queries) + static_cast<std::size_t>(query);
      result.lse[row] = lse[h];
      result.certificates[row] = certificates[h];
    }
    progress.advance(static_cast<double>(shape.query_heads) * static_cast<double>(seen));
  }
  result.cached = growing.cache().tokens(sequence);
  result.cache_bytes = growing.cache().bytes() - growing.cache().free_bytes();
  return result;
}

}  // namespace tamis::cli
