#include "attend/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include <tamis/error.h>

#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

IndexShape index_shape(const Shape& shape) {
  IndexShape index;
  index.dtype = shape.dtype;
  index.kv_heads = shape.kv_heads;
  index.head_dim = shape.head_dim;
  index.value_dim = shape.value_dim;
  return index;
}

}  // namespace

Replay::Replay(const Trace& trace, const TraceLayer& layer, const LayerData& data,
               std::vector<Budget> budgets, bool ladder, Workspace& workspace, Progress& progress)
    : trace_(trace),
      layer_(layer),
      data_(data),
      budgets_(std::move(budgets)),
      ladder_(ladder),
      pages_(layer.shape.dtype, data.k.bytes().data(), data.v.bytes().data(), layer.shape.kv_heads,
             trace.tokens(), layer.shape.head_dim, layer.shape.value_dim),
      index_(index_shape(layer.shape)) {
  progress.enter(index_stage);
  const auto begin = Clock::now();
  index_.extend(pages_.heads(), workspace);
  index_seconds_ = seconds_since(begin);
  progress.advance(static_cast<double>(layer.shape.kv_heads * trace.tokens()));
}

void Replay::step(std::int64_t query, View<float> weights, Workspace& workspace, StepResult& result) const
    try {
  Shape shape = layer_.shape;
  const std::int64_t stride = shape.queries * shape.head_dim;  // from one head's query to the next head's
  shape.queries = 1;
  const View<const float> q(data_.q.data() + query * shape.head_dim, shape.query_heads, shape.head_dim,
                            stride);
  SieveOptions options;
  options.ladder = ladder_;
  options.fewest_bytes = true;  // a replay is to show what is read
  options.weights = weights;
  attend(index_, shape, q, pages_.heads(), trace_.seen().subspan(static_cast<std::size_t>(query), 1),
         budgets_, options, workspace, {result.out.data(), shape.query_heads, shape.value_dim}, result.lse,
         result.certificates);
} catch (const Error& error) {
  if (error.code() != Code::input) throw;
  throw Error(Code::input, fmt::format("query {}: {}", query, error.what()));  // its rows are the heads
}

LayerResult Replay::run(Workspace& workspace, Progress& progress) const {
  const Shape& shape = layer_.shape;
  const auto rows = static_cast<std::size_t>(shape.rows());
  LayerResult result;
  result.layer = layer_;
  result.out.resize(rows * static_cast<std::size_t>(shape.value_dim));
  result.lse.resize(rows);
  result.certificates.resize(rows);
  result.index_bytes = index_.bytes();
  result.index_seconds = index_seconds_;

  StepResult step_result(shape);
  const View<float> from(step_result.out.data(), shape.query_heads, shape.value_dim);
  const View<float> to(result.out.data(), shape.rows(), shape.value_dim);
  progress.enter(attention_stage);
  for (std::int64_t query = 0; query < shape.queries; ++query) {
    stop_if_interrupted();
    const auto begin = Clock::now();
    step(query, {}, workspace, step_result);
    result.seconds += seconds_since(begin);
    for (std::int64_t head = 0; head < shape.query_heads; ++head) {
      const std::int64_t row = head * shape.queries + query;
      std::ranges::copy(from.row(head), to.row(row).begin());
      result.lse[static_cast<std::size_t>(row)] = step_result.lse[static_cast<std::size_t>(head)];
      result.certificates[static_cast<std::size_t>(row)] =
          step_result.certificates[static_cast<std::size_t>(head)];
    }
    progress.advance(static_cast<double>(shape.query_heads) *
                     static_cast<double>(trace_.seen()[static_cast<std::size_t>(query)]));
  }
  return result;
}

}  // namespace tamis::cli
