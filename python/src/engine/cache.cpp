// The class _tamis.Cache. Arrays of keys and values have the axes sequence, head, token, channel.
#include "cache.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <string>
#include <vector>

#include <tamis/error.h>

#include "../arrays.h"
#include "../module.h"
#include "workspaces.h"

namespace tamis::python {
namespace {

namespace nb = nanobind;
using Sequences = std::vector<Sequence>;

/// Runs `work` without the interpreter's lock while the call holds these sequences.
template <class Work>
auto run(const BoundCache& self, const Sequences& reads, const Sequences& changes,
         const Work& work) {
  const nb::gil_scoped_release released;
  const Uses::Hold hold(self.uses, reads, changes);
  return work();
}

DType dtype_named(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    if (name_of(dtype) == name) return dtype;
  throw Error(Code::usage, "dtype is '" + name + "'; it must be f32, f16 or bf16");
}

/// The rows of `sequences` sequences with `tokens` tokens each, or of all sequences, one after
/// another, if `sequences` is 1.
Rows rows_of(const ArrayIn& array, bool is_bf16, const char* name, std::size_t sequences,
             std::int64_t tokens, std::int64_t heads, std::int64_t dim) {
  const auto check = [&](std::size_t axis, std::int64_t right, const char* what) {
    const auto size = static_cast<std::int64_t>(array.shape(axis));
    if (size != right)
      throw Error(Code::usage, std::string(name) + " have " + std::to_string(size) + " " + what +
                                   "; there must be " + std::to_string(right));
  };
  check(0, static_cast<std::int64_t>(sequences), "sequences");
  check(1, heads, "heads");
  check(2, tokens, "tokens");
  check(3, dim, "channels");
  return {.data = data_of(array),
          .dtype = dtype_of(array, is_bf16, name),
          .token_stride = array.stride(2),
          .head_stride = array.stride(1),
          .channel_stride = array.stride(3),
          .sequence_stride = sequences > 1 ? array.stride(0) : 0};
}

void append(BoundCache& self, const Sequences& sequences, const std::vector<std::int64_t>& tokens,
            const ArrayIn& keys, bool keys_bf16, const ArrayIn& values, bool values_bf16) {
  if (sequences.empty()) return;
  const bool apart = keys.shape(0) > 1;
  const std::size_t count = apart ? sequences.size() : 1;
  const std::int64_t each =
      apart ? tokens.at(0) : std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  const Heads& heads = self.cache.heads();
  const Rows key_rows =
      rows_of(keys, keys_bf16, "keys", count, each, heads.kv_heads, heads.key_dim);
  const Rows value_rows =
      rows_of(values, values_bf16, "values", count, each, heads.kv_heads, heads.value_dim);
  run(self, {}, sequences, [&] {
    const BorrowedWorkspace workspace(self.threads);
    self.cache.append(sequences, tokens, key_rows, value_rows, workspace.get());
  });
}

}  // namespace

void declare_cache(nb::module_& module) {
  using nb::arg;
  nb::class_<BoundCache>(module, "Cache", "The KV cache of one layer.")
      .def(
          "__init__",
          [](BoundCache* self, std::int64_t query_heads, std::int64_t kv_heads,
             std::int64_t key_dim, std::int64_t value_dim, float scale, int bits,
             const std::string& dtype, std::int64_t sinks, std::int64_t raw_below,
             std::size_t capacity, int threads) {
            const Heads heads{query_heads, kv_heads, key_dim, value_dim, scale};
            CacheOptions options;
            options.bits = bits;
            options.dtype = dtype_named(dtype);
            options.sinks = sinks;
            options.raw_below = raw_below;
            options.capacity = capacity;
            new (self) BoundCache(heads, options, threads);
          },
          arg("query_heads"), arg("kv_heads"), arg("key_dim"), arg("value_dim"), arg("scale"),
          arg("bits"), arg("dtype"), arg("sinks"), arg("raw_below"), arg("capacity"),
          arg("threads"))
      .def(
          "add",
          [](BoundCache& self, Sequence sequence) {
            run(self, {}, {sequence}, [&] { self.cache.add(sequence); });
          },
          arg("sequence"))
      .def(
          "remove",
          [](BoundCache& self, Sequence sequence) {
            run(self, {}, {sequence}, [&] { self.cache.remove(sequence); });
          },
          arg("sequence"))
      .def(
          "contains",
          [](const BoundCache& self, Sequence sequence) { return self.cache.contains(sequence); },
          arg("sequence"))
      .def(
          "tokens",
          [](const BoundCache& self, Sequence sequence) {
            return run(self, {sequence}, {}, [&] { return self.cache.tokens(sequence); });
          },
          arg("sequence"))
      .def("sequences", [](const BoundCache& self) { return self.cache.sequences(); })
      .def("nbytes", [](const BoundCache& self) { return self.cache.bytes(); })
      .def("free_nbytes", [](const BoundCache& self) { return self.cache.free_bytes(); })
      .def("append", &append, arg("sequences"), arg("tokens"), arg("keys"), arg("keys_bf16"),
           arg("values"), arg("values_bf16"))
      .def(
          "truncate",
          [](BoundCache& self, Sequence sequence, std::int64_t tokens) {
            run(self, {}, {sequence}, [&] { self.cache.truncate(sequence, tokens); });
          },
          arg("sequence"), arg("tokens"))
      .def(
          "fork",
          [](BoundCache& self, Sequence from, std::int64_t tokens, Sequence to) {
            run(self, {from}, {to}, [&] { self.cache.fork(from, tokens, to); });
          },
          arg("source"), arg("tokens"), arg("to"))
      .def(
          "shed",
          [](BoundCache& self, Sequence sequence, int bits, std::int64_t tokens) {
            run(self, {}, {sequence}, [&] { self.cache.shed(sequence, bits, tokens); });
          },
          arg("sequence"), arg("bits"), arg("tokens"))
      .def(
          "save",
          [](const BoundCache& self, Sequence sequence, const nb::bytes& path) {
            const std::string name(path.c_str(), path.size());
            run(self, {sequence}, {}, [&] { self.cache.save(sequence, name); });
          },
          arg("sequence"), arg("path"))
      .def(
          "load",
          [](BoundCache& self, Sequence sequence, const nb::bytes& path) {
            const std::string name(path.c_str(), path.size());
            run(self, {}, {sequence}, [&] { self.cache.load(sequence, name); });
          },
          arg("sequence"), arg("path"));
}

}  // namespace tamis::python
