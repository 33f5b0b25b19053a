// C ABI: workspaces, dense attention in f32, and its reference in f64.
#include "capi/attention.h"

#include <algorithm>

#include "attention/check.h"

namespace tamis::capi {

static_assert(sizeof(tamis_shape) == shape_size && TAMIS_ENDS_WITH(tamis_shape, scale));
static_assert(TAMIS_PAGE_TOKENS == page_tokens);

Shape shape_of(const tamis_shape* from) {
  const tamis_shape c = read_struct(from, shape_size, "tamis_shape");
  Shape shape;
  shape.query_heads = c.query_heads;
  shape.kv_heads = c.kv_heads;
  shape.queries = c.queries;
  shape.head_dim = c.head_dim;
  shape.value_dim = c.value_dim;
  shape.dtype = dtype_of(c.dtype);
  shape.scale = c.scale;
  if (shape.query_heads < 1 || shape.kv_heads < 1)
    core::fail(Code::usage, "{} query heads over {} KV heads: both must be positive",
               shape.query_heads, shape.kv_heads);
  if (shape.query_heads > attention::most_heads || shape.query_heads % shape.kv_heads != 0)
    core::fail(
        Code::usage,
        "{} query heads over {} KV heads: query heads must be a multiple of KV heads, at most {}",
        shape.query_heads, shape.kv_heads, attention::most_heads);
  extent(
      {shape.query_heads, shape.queries, std::max<std::int64_t>(1, shape.head_dim), sizeof(double)},
      "q");
  extent({shape.query_heads, shape.queries, std::max<std::int64_t>(1, shape.value_dim),
          sizeof(double)},
         "out");
  return shape;
}

tamis_shape to_c(const Shape& shape) {
  return {sizeof(tamis_shape),
          shape.query_heads,
          shape.kv_heads,
          shape.queries,
          shape.head_dim,
          shape.value_dim,
          static_cast<tamis_dtype>(shape.dtype),
          shape.scale};
}

void read_pages(std::int64_t kv_heads, const tamis_kv_pages* kv, std::vector<KvPages>& heads) {
  const auto from = required(kv, extent({kv_heads, sizeof(KvPages)}, "kv"), "kv");
  heads.resize(static_cast<std::size_t>(kv_heads));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const tamis_kv_pages& head = from[h];
    const std::int64_t pages = head.tokens > 0 ? (head.tokens - 1) / page_tokens + 1 : 0;
    const auto check = [&](const void* const* table, const char* which) {
      if (pages > 0 && table == nullptr)
        core::fail(Code::usage, "the table kv[{}].{} is null", h, which);
      for (std::int64_t p = 0; p < pages; ++p)
        if (table[p] == nullptr)
          core::fail(Code::usage, "the page kv[{}].{}[{}] is null", h, which, p);
    };
    check(head.k, "k");
    check(head.v, "v");
    heads[h] = {head.k, head.v, head.tokens, head.k_stride, head.v_stride};
  }
}

namespace {

void attend(const Shape& shape, const float* q, std::span<const KvPages> kv, const int64_t* seen,
            Workspace& workspace, float* out, float* lse) {
  const auto queries = matrix(q, shape.rows(), shape.head_dim, "q");
  const auto outputs = matrix(out, shape.rows(), shape.value_dim, "out");
  const auto sums = required(lse, shape.rows(), "lse");
  dense(shape, queries, kv, seen_of(shape, seen), workspace, outputs, sums);
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_workspace_create(int threads, tamis_workspace** out) {
  return make(out, [&] { return std::make_unique<tamis_workspace>(threads); });
}

tamis_code tamis_workspace_create_on(int threads, const tamis_executor* executor,
                                     tamis_workspace** out) {
  return make(out, [&] { return std::make_unique<tamis_workspace>(threads, executor); });
}

void tamis_workspace_free(tamis_workspace* workspace) { delete workspace; }

tamis_code tamis_workspace_threads(const tamis_workspace* workspace, int* threads) {
  return guarded(
      [&] { required(threads, "threads") = required(workspace, "workspace").workspace.threads(); });
}

tamis_code tamis_dense(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                       const int64_t* seen, tamis_workspace* workspace, float* out, float* lse) {
  return guarded([&] {
    const tamis::Shape s = shape_of(shape);
    tamis_workspace& w = required(workspace, "workspace");
    const tamis::attention::InUse use(w.workspace);
    read_pages(s.kv_heads, kv, w.heads);
    attend(s, q, w.heads, seen, w.workspace, out, lse);
  });
}

tamis_code tamis_dense_arrays(const tamis_shape* shape, const float* q, const void* k,
                              const void* v, int64_t tokens, const int64_t* seen,
                              tamis_workspace* workspace, float* out, float* lse) {
  return guarded([&] {
    const tamis::Shape s = shape_of(shape);
    tamis_workspace& w = required(workspace, "workspace");
    const std::int64_t size = tamis::size_of(s.dtype);
    extent({s.kv_heads, tokens, s.head_dim, size}, "k");
    extent({s.kv_heads, tokens, s.value_dim, size}, "v");
    const tamis::PageTables tables(s.dtype, k, v, s.kv_heads, tokens, s.head_dim, s.value_dim);
    attend(s, q, tables.heads(), seen, w.workspace, out, lse);
  });
}

tamis_code tamis_reference(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                           const int64_t* seen, double* out, double* lse) {
  return guarded([&] {
    const tamis::Shape s = shape_of(shape);
    std::vector<tamis::KvPages> heads;
    read_pages(s.kv_heads, kv, heads);
    const auto queries = matrix(q, s.rows(), s.head_dim, "q");
    const auto outputs = matrix(out, s.rows(), s.value_dim, "out");
    const auto sums = required(lse, s.rows(), "lse");
    tamis::reference(s, queries, heads, seen_of(s, seen), outputs, sums);
  });
}
