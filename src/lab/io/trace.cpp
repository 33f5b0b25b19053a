// Opening a trace reads the header, the positions and the input bounds. The tensors of a layer are
// read, and checked to be finite, on demand.
#include <tamis/lab/trace.h>

#include <algorithm>
#include <string>

#include "lab/io/trace_checks.h"

namespace tamis::lab {

Trace::Trace(const std::string& path) : Trace(SafetensorsFile(path)) {}

Trace::Trace(SafetensorsFile file) : file_(std::move(file)) {
  const io::TraceChecks check(file_);
  check.check_format();
  causal_ = check.causal();
  const float scale = check.scale();
  for (const auto& [number, given] : check.layer_fields())
    layers_.push_back(check.layer(number, given, scale));
  if (layers_.empty())
    check.fail_file("the trace has no layers; it needs tensors layers.L.q, .k and .v");

  const auto tokens_of = [this](const TraceLayer& layer) {
    return file_.find(io::tensor_name(layer.layer, "k"))->shape[1];
  };
  tokens_ = tokens_of(layers_.front());
  std::int64_t head_dim = layers_.front().shape.head_dim;
  for (const TraceLayer& layer : layers_) {
    if (tokens_of(layer) != tokens_)
      check.fail_file("layer {} has {} tokens and layer {} has {}; all layers must have the same",
                      layers_.front().layer, tokens_, layer.layer, tokens_of(layer));
    head_dim = std::min(head_dim, layer.shape.head_dim);
  }
  check.check_tokens(tokens_);

  positions_ = check.positions(tokens_);
  const auto queries = static_cast<std::int64_t>(positions_.size());
  for (const TraceLayer& layer : layers_) {
    if (layer.shape.queries != queries)
      check.fail_file("tensor '{}' has {} queries, but 'positions' has {}; they must be as many",
                      io::tensor_name(layer.layer, "q"), layer.shape.queries, queries);
  }
  for (const std::int64_t position : positions_) seen_.push_back(causal_ ? position + 1 : tokens_);
  rotary_ = check.rotary(head_dim);
}

const TraceLayer& Trace::layer(std::int64_t number) const {
  const auto found = std::ranges::lower_bound(layers_, number, {}, &TraceLayer::layer);
  if (found != layers_.end() && found->layer == number) return *found;
  std::string held;
  for (const TraceLayer& layer : layers_)
    held += (held.empty() ? "" : ", ") + std::to_string(layer.layer);
  core::fail(Code::usage, "{}: there is no layer {}; it has {}", path(), number, held);
}

std::vector<TraceLayer> Trace::layers(std::span<const std::int64_t> numbers) const {
  if (numbers.empty()) return layers_;
  for (const std::int64_t number : numbers) (void)layer(number);
  std::vector<TraceLayer> chosen;
  for (const TraceLayer& layer : layers_)
    if (std::ranges::find(numbers, layer.layer) != numbers.end()) chosen.push_back(layer);
  return chosen;
}

LayerData Trace::read(const TraceLayer& layer) const {
  const std::int64_t number = this->layer(layer.layer).layer;
  const io::TraceChecks check(file_);
  return {check.read_finite(io::tensor_name(number, "q")).to_f32(),
          check.read_finite(io::tensor_name(number, "k")),
          check.read_finite(io::tensor_name(number, "v"))};
}

PageTables LayerData::pages() const {
  const std::vector<std::int64_t>& keys = k.info().shape;
  const std::vector<std::int64_t>& values = v.info().shape;
  if (keys.size() != 3 || values.size() != 3)
    core::fail(Code::usage, "the layer has no keys and values; take them from Trace::read");
  return {k.info().dtype, k.bytes().data(), v.bytes().data(), keys[0], keys[1], keys[2], values[2]};
}

LayerWeights Trace::read_weights(const TraceLayer& layer) const {
  const TraceLayer& own = this->layer(layer.layer);
  const io::TraceChecks check(file_);
  if (!own.has_weights) check.fail_file("layer {} has no w_q and w_k", own.layer);
  return {check.read_finite(io::tensor_name(own.layer, "w_q")),
          check.read_finite(io::tensor_name(own.layer, "w_k"))};
}

std::vector<double> Trace::read_weight_norms(const TraceLayer& layer) const {
  const TraceLayer& own = this->layer(layer.layer);
  const io::TraceChecks check(file_);
  if (!own.has_weight_norms) check.fail_file("layer {} has no w_norm", own.layer);
  return check.read_bounds(io::tensor_name(own.layer, "w_norm"), true);
}

}  // namespace tamis::lab
