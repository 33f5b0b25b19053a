// C ABI: the index, and sparse attention with certificates.
#include <tamis/sieve.h>

#include "capi/attention.h"
#include "capi/budget.h"

struct tamis_index {
  tamis::Index index;
};

namespace tamis::capi {
namespace {

constexpr std::size_t index_shape_size = 48;  // of the first published versions
constexpr std::size_t info_size = 64;
constexpr std::size_t options_size = 40;
static_assert(sizeof(tamis_index_shape) == index_shape_size &&
              TAMIS_ENDS_WITH(tamis_index_shape, no_values));
static_assert(sizeof(tamis_index_info) == info_size && TAMIS_ENDS_WITH(tamis_index_info, no_values));
static_assert(sizeof(tamis_sieve_options) == options_size &&
              TAMIS_ENDS_WITH(tamis_sieve_options, weights_cols));
static_assert(sizeof(tamis_certificate) == 128);  // arrays of these cross the border
static_assert(static_cast<tamis_grade>(Grade::proved) == TAMIS_PROVED);

IndexShape index_shape_of(const tamis_index_shape* from) {
  const tamis_index_shape c = read_struct(from, index_shape_size, "tamis_index_shape");
  if (c.kv_heads > most_heads)
    fail(Code::usage, "kv_heads is {}; at most {} are possible", c.kv_heads, most_heads);
  IndexShape shape;
  shape.dtype = dtype_of(c.dtype);
  shape.kv_heads = c.kv_heads;
  shape.head_dim = c.head_dim;
  shape.value_dim = c.value_dim;
  shape.sinks = c.sinks;
  shape.values = !flag_of(c.no_values, "no_values");
  return shape;
}

SieveOptions options_of(const tamis_sieve_options* from, std::int64_t rows) {
  SieveOptions options;
  if (from == nullptr) return options;
  const tamis_sieve_options c = read_struct(from, options_size, "tamis_sieve_options");
  if (c.dense_below < 0) fail(Code::usage, "dense_below is {}; it must not be negative", c.dense_below);
  options.ladder = !flag_of(c.no_ladder, "no_ladder");
  options.fewest_bytes = flag_of(c.fewest_bytes, "fewest_bytes");
  if (c.dense_below > 0) options.dense_below = c.dense_below;
  if (c.weights != nullptr) options.weights = matrix(c.weights, rows, c.weights_cols, "weights");
  return options;
}

void read_budgets(const tamis_budget* from, std::size_t count, std::vector<Budget>& budgets) {
  if (count > static_cast<std::size_t>(most_heads))
    fail(Code::usage, "budget_count is {}; give 1, or one for each query head", count);
  const auto all = required(from, static_cast<std::int64_t>(count), "budgets");
  budgets.clear();
  for (const tamis_budget& budget : all) budgets.push_back(budget_of(budget));
}

/// The pages of an index's keys and values.
void read_index_pages(const Index& index, const tamis_kv_pages* kv, std::size_t count,
                      std::vector<KvPages>& heads, std::int64_t first = 0) {
  const std::int64_t kv_heads = index.shape().kv_heads;
  if (count != static_cast<std::size_t>(kv_heads))
    fail(Code::usage, "count is {}; the index has {} KV heads", count, kv_heads);
  read_pages(kv_heads, kv, heads, first);
}

tamis_certificate to_c(const Certificate& from) {
  tamis_certificate c{};
  c.tau = from.tau;
  c.error = from.error;
  c.lse_error = from.lse_error;
  c.grade = static_cast<tamis_grade>(from.grade);
  c.dense = from.dense ? 1 : 0;
  c.coarse_keys = from.coarse_keys;
  c.middle_keys = from.middle_keys;
  c.exact_keys = from.exact_keys;
  c.middle_values = from.middle_values;
  c.exact_values = from.exact_values;
  c.coarse_bytes = from.coarse_bytes;
  c.middle_bytes = from.middle_bytes;
  c.exact_bytes = from.exact_bytes;
  return c;
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are outside it

tamis_code tamis_index_create(const tamis_index_shape* shape, tamis_index** out) {
  return make(
      out, [&] { return std::make_unique<tamis_index>(tamis_index{tamis::Index(index_shape_of(shape))}); });
}

tamis_code tamis_index_copy(const tamis_index* index, tamis_index** out) {
  return make(out, [&] { return std::make_unique<tamis_index>(required(index, "index")); });
}

void tamis_index_free(tamis_index* index) { delete index; }

tamis_code tamis_index_extend(tamis_index* index, const tamis_kv_pages* kv, size_t count,
                              tamis_workspace* workspace) {
  return guarded([&] {
    tamis::Index& i = required(index, "index").index;
    tamis_workspace& w = required(workspace, "workspace");
    const tamis::InUse use(w.workspace);
    read_index_pages(i, kv, count, w.heads, i.tokens());  // pages before are not read
    i.extend(w.heads, w.workspace);
  });
}

tamis_code tamis_index_truncate(tamis_index* index, int64_t tokens) {
  return guarded([&] { required(index, "index").index.truncate(tokens); });
}

tamis_code tamis_index_get_info(const tamis_index* index, tamis_index_info* out) {
  return guarded([&] {
    const tamis::Index& i = required(index, "index").index;
    const tamis::IndexShape& shape = i.shape();
    tamis_index_info info{};
    info.tokens = i.tokens();
    info.bytes = i.bytes();
    info.kv_heads = shape.kv_heads;
    info.head_dim = shape.head_dim;
    info.value_dim = shape.value_dim;
    info.sinks = shape.sinks;
    info.dtype = static_cast<tamis_dtype>(shape.dtype);
    info.no_values = shape.values ? 0 : 1;
    write_struct(out, info, info_size, "tamis_index_info");
  });
}

tamis_code tamis_index_save(const tamis_index* index, const char* path, const tamis_kv_pages* kv,
                            size_t count) {
  return guarded([&] {
    const tamis::Index& i = required(index, "index").index;
    std::vector<tamis::KvPages> heads;
    read_index_pages(i, kv, count, heads);
    i.save(&required(path, "path"), heads);
  });
}

tamis_code tamis_index_load(const char* path, tamis_dtype dtype, const tamis_kv_pages* kv, size_t count,
                            tamis_index** out) {
  return make(out, [&] {
    if (count > static_cast<std::size_t>(most_heads))
      tamis::fail(tamis::Code::usage, "count is {}; at most {} are possible", count, most_heads);
    std::vector<tamis::KvPages> heads;
    read_pages(static_cast<std::int64_t>(count), kv, heads);
    return std::make_unique<tamis_index>(
        tamis_index{tamis::Index::load(&required(path, "path"), dtype_of(dtype), heads)});
  });
}

tamis_code tamis_attend(const tamis_index* index, const tamis_shape* shape, const float* q,
                        const tamis_kv_pages* kv, const int64_t* seen, const tamis_budget* budgets,
                        size_t budget_count, const tamis_sieve_options* options, tamis_workspace* workspace,
                        float* out, float* lse, tamis_certificate* certificates) {
  return guarded([&] {
    const tamis::Index& i = required(index, "index").index;
    const tamis::Shape s = shape_of(shape);
    tamis_workspace& w = required(workspace, "workspace");
    const tamis::SieveOptions o = options_of(options, s.rows());
    const tamis::InUse use(w.workspace);
    read_pages(s.kv_heads, kv, w.heads);
    read_budgets(budgets, budget_count, w.budgets);
    w.certificates.resize(static_cast<std::size_t>(s.rows()));
    tamis::attend(i, s, matrix(q, s.rows(), s.head_dim, "q"), w.heads, seen_of(s, seen), w.budgets, o,
                  w.workspace, matrix(out, s.rows(), s.value_dim, "out"), required(lse, s.rows(), "lse"),
                  w.certificates);
    if (certificates == nullptr) return;
    for (const tamis::Certificate& certificate : w.certificates) *certificates++ = to_c(certificate);
  });
}
