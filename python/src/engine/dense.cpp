// Dense attention over arrays, for one sequence. The arrays have the axes head, token, channel,
// with channels side by side; those of queries and outputs have no gaps.
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>

#include "../arrays.h"
#include "../module.h"
#include "workspaces.h"

namespace tamis::python {
namespace {

namespace nb = nanobind;
using Seen = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>;
using Queries = nb::ndarray<const float, nb::ndim<3>, nb::c_contig>;
using Outputs = nb::ndarray<float, nb::ndim<3>, nb::c_contig>;
using PerRow = nb::ndarray<float, nb::ndim<2>, nb::c_contig>;
using Bounds = nb::ndarray<double, nb::ndim<3>, nb::c_contig>;

std::int64_t size(const ArrayIn& array, std::size_t axis) {
  return static_cast<std::int64_t>(array.shape(axis));
}

/// The addresses of the pages of all heads, head after head.
std::vector<const void*> pages_of(const ArrayIn& array) {
  const std::int64_t heads = size(array, 0);
  const std::int64_t tokens = size(array, 1);
  const auto item = static_cast<std::int64_t>(array.itemsize());
  std::vector<const void*> pages;
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t token = 0; token < tokens; token += page_tokens)
      pages.push_back(static_cast<const std::byte*>(data_of(array)) +
                      (head * array.stride(0) + token * array.stride(1)) * item);
  return pages;
}

/// Attention of q over k and v; roundings, if wanted, get tau, error and lse_error of every row.
void dense_over(const Queries& q, const ArrayIn& k, bool k_bf16, const ArrayIn& v, bool v_bf16,
                float scale, const std::optional<Seen>& seen, int threads, const Outputs& out,
                const PerRow& lse, const std::optional<Bounds>& roundings) {
  Shape shape;
  shape.query_heads = static_cast<std::int64_t>(q.shape(0));
  shape.kv_heads = size(k, 0);
  shape.queries = static_cast<std::int64_t>(q.shape(1));
  shape.head_dim = static_cast<std::int64_t>(q.shape(2));
  shape.value_dim = size(v, 2);
  shape.dtype = dtype_of(k, k_bf16, "k");
  shape.scale = scale;
  const std::int64_t tokens = size(k, 1);
  const std::vector<const void*> k_pages = pages_of(k);
  const std::vector<const void*> v_pages = pages_of(v);
  const std::int64_t per_head = (tokens + page_tokens - 1) / page_tokens;
  std::vector<KvPages> heads;
  for (std::int64_t head = 0; head < shape.kv_heads; ++head)
    heads.push_back({.k = k_pages.data() + head * per_head,
                     .v = v_pages.data() + head * per_head,
                     .tokens = tokens,
                     .k_stride = k.stride(1),
                     .v_stride = v.stride(1),
                     .dtype = dtype_of(v, v_bf16, "v")});
  std::span<const std::int64_t> sees;
  if (seen) sees = {seen->data(), seen->shape(0)};
  const View<const float> queries(q.data(), shape.rows(), shape.head_dim);

  const nb::gil_scoped_release released;
  const BorrowedWorkspace workspace(threads);
  dense(shape, queries, heads, sees, workspace.get(),
        View<float>(out.data(), shape.rows(), shape.value_dim), {lse.data(), lse.size()});
  if (!roundings) return;
  std::vector<Rounding> bounds(static_cast<std::size_t>(shape.rows()));
  dense_rounding(shape, queries, heads, sees, bounds);
  double* to = roundings->data();
  for (const Rounding& bound : bounds) {
    *to++ = bound.tau;
    *to++ = bound.error;
    *to++ = bound.lse;
  }
}

}  // namespace

void declare_dense(nb::module_& module) {
  using nb::arg;
  module.def("dense", &dense_over, arg("q"), arg("k"), arg("k_bf16"), arg("v"), arg("v_bf16"),
             arg("scale"), arg("seen").none(), arg("threads"), arg("out"), arg("lse"),
             arg("roundings").none(),
             "Dense attention, written into out, lse and roundings (tau, error, lse_error).");
}

}  // namespace tamis::python
