// Traces: an open file, its layers one at a time, and writing one.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tamis/lab/trace.h>

#include "lab.h"
#include "values.h"

namespace tamis::python {
namespace {

std::optional<Dict> rotary_of(const lab::Trace& trace) {
  if (!trace.rotary()) return std::nullopt;
  nb::dict dict;
  dict["theta"] = trace.rotary()->theta;
  dict["dims"] = trace.rotary()->dims;
  dict["interleaved"] = trace.rotary()->interleaved;
  return dict;
}

Dict layer_dict(const lab::TraceLayer& layer) {
  nb::dict dict;
  dict["layer"] = layer.layer;
  dict["query_heads"] = layer.shape.query_heads;
  dict["kv_heads"] = layer.shape.kv_heads;
  dict["queries"] = layer.shape.queries;
  dict["head_dim"] = layer.shape.head_dim;
  dict["value_dim"] = layer.shape.value_dim;
  dict["scale"] = layer.shape.scale;
  dict["dtype"] = text(name_of(layer.shape.dtype));
  dict["query_dtype"] = text(name_of(layer.query_dtype));
  dict["has_weights"] = layer.has_weights;
  dict["has_weight_norms"] = layer.has_weight_norms;
  dict["input_bound"] = or_none(layer.input_bound);
  return dict;
}

Dicts layers_of(const lab::Trace& trace) {
  Dicts list;
  for (const lab::TraceLayer& layer : trace.layers()) list.append(layer_dict(layer));
  return list;
}

Dict read(const lab::Trace& trace, std::int64_t number) {
  const lab::TraceLayer& layer = trace.layer(number);
  lab::LayerData data = [&] {
    nb::gil_scoped_release release;
    return trace.read(layer);
  }();
  const Shape& shape = layer.shape;
  nb::dict dict;
  dict["q"] = array_of(std::move(data.q), {static_cast<std::size_t>(shape.query_heads),
                                           static_cast<std::size_t>(shape.queries),
                                           static_cast<std::size_t>(shape.head_dim)});
  dict["k"] = tensor_tuple(std::move(data.k));
  dict["v"] = tensor_tuple(std::move(data.v));
  return dict;
}

nb::typed<nb::dict, nb::str, TensorTuple> read_weights(const lab::Trace& trace,
                                                       std::int64_t number) {
  lab::LayerWeights weights = [&] {
    nb::gil_scoped_release release;
    return trace.read_weights(trace.layer(number));
  }();
  nb::dict dict;
  dict["w_q"] = tensor_tuple(std::move(weights.w_q));
  dict["w_k"] = tensor_tuple(std::move(weights.w_k));
  return dict;
}

Array<double> read_weight_norms(const lab::Trace& trace, std::int64_t number) {
  return array_of([&] {
    nb::gil_scoped_release release;
    return trace.read_weight_norms(trace.layer(number));
  }());
}

using NamedTensor = std::tuple<std::string, std::string, std::vector<std::int64_t>, Bytes>;

void write(const nb::bytes& path, const std::vector<NamedTensor>& tensors,
           const lab::Metadata& metadata) {
  std::vector<lab::TensorRef> refs;
  refs.reserve(tensors.size());
  for (const auto& [name, dtype, shape, bytes] : tensors)
    refs.push_back(tensor_ref(name, dtype, shape, bytes));
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  lab::write_safetensors(file, refs, metadata);
}

/// Opens a trace and reads all of it, so that what breaks a rule of docs/trace.md is refused.
void check(const nb::bytes& path) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  const lab::Trace trace(file);
  for (const lab::TraceLayer& layer : trace.layers()) {
    (void)trace.read(layer);
    if (layer.has_weights) (void)trace.read_weights(layer);
    if (layer.has_weight_norms) (void)trace.read_weight_norms(layer);
  }
}

}  // namespace

void declare_trace(nb::module_& m) {
  using nb::arg;
  nb::class_<lab::Trace>(m, "Trace")
      .def(
          "__init__",
          [](lab::Trace* self, const nb::bytes& path) {
            const std::string file = path_of(path);
            nb::gil_scoped_release release;
            new (self) lab::Trace(file);
          },
          arg("path"))
      .def_prop_ro("metadata",
                   [](const lab::Trace& trace) { return metadata_dict(trace.metadata()); })
      .def_prop_ro("tokens", &lab::Trace::tokens)
      .def_prop_ro("causal", &lab::Trace::causal)
      .def_prop_ro(
          "positions",
          [](const lab::Trace& trace) {
            return array_of(std::vector(trace.positions().begin(), trace.positions().end()));
          })
      .def_prop_ro("seen",
                   [](const lab::Trace& trace) {
                     return array_of(std::vector(trace.seen().begin(), trace.seen().end()));
                   })
      .def_prop_ro("rotary", &rotary_of)
      .def_prop_ro("layers", &layers_of)
      .def("read", &read, arg("layer"))
      .def("read_weights", &read_weights, arg("layer"))
      .def("read_weight_norms", &read_weight_norms, arg("layer"));
  m.def("write_tensors", &write, arg("path"), arg("tensors"), arg("metadata"));
  m.def("check_trace", &check, arg("path"));
  m.def(
      "check_writable", [](const nb::bytes& path) { lab::check_writable(path_of(path)); },
      arg("path"));
  m.def(
      "behind_links",
      [](const nb::bytes& path) {
        const std::string target = lab::behind_links(path_of(path));
        return nb::bytes(target.data(), target.size());
      },
      arg("path"));
}

}  // namespace tamis::python
