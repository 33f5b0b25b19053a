// The weights that sparse attention used against the softmax in f64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tamis/error.h>

#include "attend/check.h"
#include "attend/threads.h"

namespace tamis::cli {
namespace {

/// ½Σ|p_j − p̂_j| for p the softmax of scale·q·k_j and p̂ the weights, divided by their sum. NaN if they
/// cannot be: not finite, or all zero.
double total_variation(std::span<const float> q, const float* keys, double scale,
                       std::span<const float> weights) {
  std::vector<double> exact(weights.size());
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < exact.size(); ++j) {
    double dot = 0;
    for (std::size_t c = 0; c < q.size(); ++c)
      dot += static_cast<double>(q[c]) * static_cast<double>(keys[j * q.size() + c]);
    exact[j] = scale * dot;
    top = std::max(top, exact[j]);
  }
  double total = 0;
  double used = 0;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    total += exact[j] = std::exp(exact[j] - top);
    used += weights[j];
  }
  double sum = 0;
  for (std::size_t j = 0; j < exact.size(); ++j) sum += std::abs(exact[j] / total - weights[j] / used);
  return sum / 2;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

void measure_weights(const Trace& trace, const LayerData& data, const Replay& replay, Workspace& workspace,
                     Progress& progress, LayerResult& result) {
  const Shape& shape = result.layer.shape;
  const std::vector<float> keys = data.k.to_f32();
  const View<const float> q(data.q.data(), shape.rows(), shape.head_dim);
  const View<const float> out(result.out.data(), shape.rows(), shape.value_dim);
  const std::int64_t most_seen = *std::ranges::max_element(trace.seen());
  std::vector<float> used(static_cast<std::size_t>(shape.query_heads * most_seen));
  const View<float> weights(used.data(), shape.query_heads, most_seen);
  StepResult again(shape);
  const View<const float> out_again(again.out.data(), shape.query_heads, shape.value_dim);
  result.true_tau.resize(result.certificates.size());
  progress.enter(weights_stage);
  for (std::int64_t query = 0; query < shape.queries; ++query) {
    stop_if_interrupted();
    // A weight that is not written must not pass for one.
    std::ranges::fill(used, std::numeric_limits<float>::quiet_NaN());
    replay.step(query, weights, workspace, again);
    const auto seen = static_cast<std::size_t>(trace.seen()[static_cast<std::size_t>(query)]);
    on_threads(static_cast<std::size_t>(shape.query_heads), workspace.threads(), [&](std::size_t head) {
      const auto h = static_cast<std::int64_t>(head);
      const std::int64_t row = h * shape.queries + query;
      if (!same_bits(out_again.row(h), out.row(row)))
        throw Error(Code::internal, "attention of one query gave two different outputs");
      const float* keys_of_head = keys.data() + h / shape.group() * trace.tokens() * shape.head_dim;
      result.true_tau[static_cast<std::size_t>(row)] = total_variation(
          q.row(row), keys_of_head, shape.scale, std::span<const float>(weights.row(h)).first(seen));
    });
    progress.advance(static_cast<double>(shape.query_heads) * static_cast<double>(seen));
  }
}

}  // namespace tamis::cli
