// C ABI: traces.
#include <tamis/lab/trace.h>

#include <algorithm>

#include "capi/attention.h"
#include "lab/capi/tensor.h"

struct tamis_trace {
  explicit tamis_trace(const char* path) : trace(std::string(path)) {}
  tamis::lab::Trace trace;
};

struct tamis_layer {
  tamis::lab::LayerData data;
};

namespace tamis::lab::capi {
namespace {

constexpr std::size_t info_size = 64;  // of the first published versions
constexpr std::size_t layer_info_size = 40;
static_assert(sizeof(tamis_trace_info) == info_size && TAMIS_ENDS_WITH(tamis_trace_info, reserved));
static_assert(sizeof(tamis_layer_info) == layer_info_size &&
              TAMIS_ENDS_WITH(tamis_layer_info, input_bound));

const TraceLayer& layer_of(const tamis_trace* trace, std::int64_t index) {
  const auto layers = tamis::capi::required(trace, "trace").trace.layers();
  if (index < 0 || index >= static_cast<std::int64_t>(layers.size()))
    core::fail(Code::usage, "layer {} was asked for; the trace has {}", index, layers.size());
  return layers[static_cast<std::size_t>(index)];
}

}  // namespace
}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

tamis_code tamis_trace_open(const char* path, tamis_trace** out) {
  return make(out, [&] { return std::make_unique<tamis_trace>(&required(path, "path")); });
}

void tamis_trace_free(tamis_trace* trace) { delete trace; }

tamis_code tamis_trace_get_info(const tamis_trace* trace, tamis_trace_info* out) {
  return guarded([&] {
    const tamis::lab::Trace& t = required(trace, "trace").trace;
    tamis_trace_info info{};
    info.tokens = t.tokens();
    info.queries = static_cast<std::int64_t>(t.positions().size());
    info.layers = static_cast<std::int64_t>(t.layers().size());
    info.causal = t.causal() ? 1 : 0;
    if (const auto& rotary = t.rotary()) {
      info.has_rotary = 1;
      info.rotary_theta = rotary->theta;
      info.rotary_dims = rotary->dims;
      info.rotary_interleaved = rotary->interleaved ? 1 : 0;
    }
    write_struct(out, info, info_size, "tamis_trace_info");
  });
}

tamis_code tamis_trace_metadata(const tamis_trace* trace, const char* key, const char** value) {
  return guarded([&] {
    required(value, "value") = find_metadata(required(trace, "trace").trace.metadata(), key);
  });
}

tamis_code tamis_trace_positions(const tamis_trace* trace, const int64_t** positions,
                                 const int64_t** seen) {
  return guarded([&] {
    const tamis::lab::Trace& t = required(trace, "trace").trace;
    if (positions != nullptr) *positions = t.positions().data();
    if (seen != nullptr) *seen = t.seen().data();
  });
}

tamis_code tamis_trace_layer(const tamis_trace* trace, int64_t index, tamis_layer_info* info,
                             tamis_shape* shape) {
  return guarded([&] {
    const tamis::lab::TraceLayer& layer = layer_of(trace, index);
    if (info != nullptr) {
      tamis_layer_info c{};
      c.layer = layer.layer;
      c.query_dtype = static_cast<tamis_dtype>(layer.query_dtype);
      c.has_weights = layer.has_weights ? 1 : 0;
      c.has_weight_norms = layer.has_weight_norms ? 1 : 0;
      c.has_input_bound = layer.input_bound ? 1 : 0;
      c.input_bound = layer.input_bound.value_or(0);
      write_struct(info, c, layer_info_size, "tamis_layer_info");
    }
    if (shape != nullptr) write_struct(shape, to_c(layer.shape), shape_size, "tamis_shape");
  });
}

tamis_code tamis_layer_read(const tamis_trace* trace, int64_t index, tamis_layer** out) {
  return make(out, [&] {
    const tamis::lab::TraceLayer& layer = layer_of(trace, index);
    return std::make_unique<tamis_layer>(tamis_layer{trace->trace.read(layer)});
  });
}

void tamis_layer_free(tamis_layer* layer) { delete layer; }

tamis_code tamis_layer_get(const tamis_layer* layer, const float** q, const void** k,
                           const void** v) {
  return guarded([&] {
    const tamis::lab::LayerData& data = required(layer, "layer").data;
    if (q != nullptr) *q = data.q.data();
    if (k != nullptr) *k = data.k.bytes().data();
    if (v != nullptr) *v = data.v.bytes().data();
  });
}

tamis_code tamis_layer_read_weights(const tamis_trace* trace, int64_t index, tamis_tensor** w_q,
                                    tamis_tensor** w_k) {
  return guarded([&] {
    if (w_q != nullptr) *w_q = nullptr;
    if (w_k != nullptr) *w_k = nullptr;
    required(w_q, "w_q");
    required(w_k, "w_k");
    const tamis::lab::TraceLayer& layer = layer_of(trace, index);
    tamis::lab::LayerWeights weights = trace->trace.read_weights(layer);
    auto q = std::make_unique<tamis_tensor>(tamis_tensor{std::move(weights.w_q)});
    auto k = std::make_unique<tamis_tensor>(tamis_tensor{std::move(weights.w_k)});
    *w_q = q.release();
    *w_k = k.release();
  });
}

tamis_code tamis_layer_read_weight_norms(const tamis_trace* trace, int64_t index, double* out,
                                         size_t count) {
  return guarded([&] {
    const tamis::lab::TraceLayer& layer = layer_of(trace, index);
    const std::vector<double> norms = trace->trace.read_weight_norms(layer);
    if (count != norms.size())
      tamis::core::fail(tamis::Code::usage, "count is {}; the layer has {} query heads", count,
                        norms.size());
    std::ranges::copy(norms, required(out, static_cast<std::int64_t>(count), "out").begin());
  });
}
