// C ABI: the store of keys and values.
#include <tamis/kv.h>

#include "capi/call.h"

struct tamis_kv {
  tamis::KvStore store;
};

namespace tamis::capi {
namespace {

constexpr std::size_t info_size = 56;  // of the first published version
static_assert(sizeof(tamis_kv_info) == info_size && TAMIS_ENDS_WITH(tamis_kv_info, bytes));

/// Throws `usage` if the store would grow to a size that no memory can have.
void check_store(const KvStore& store, std::int64_t new_tokens) {
  const std::int64_t all = extent({store.tokens(), 1}, "tokens") + extent({new_tokens, 1}, "new_tokens");
  extent({store.kv_heads(), all, store.head_dim() + store.value_dim(), sizeof(float)},
         "the store of keys and values");
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are outside it

tamis_code tamis_kv_create(tamis_dtype dtype, int64_t kv_heads, int64_t head_dim, int64_t value_dim,
                           tamis_kv** out) {
  return make(out, [&] {
    if (kv_heads > most_heads)
      tamis::fail(tamis::Code::usage, "kv_heads is {}; at most {} are possible", kv_heads, most_heads);
    // One slab is at most 32 pages of every head.
    constexpr std::int64_t slab = 32 * tamis::page_tokens * static_cast<std::int64_t>(sizeof(float));
    extent({kv_heads, head_dim, 2 * slab}, "the keys of one slab");
    extent({kv_heads, value_dim, 2 * slab}, "the values of one slab");
    return std::make_unique<tamis_kv>(
        tamis_kv{tamis::KvStore(dtype_of(dtype), kv_heads, head_dim, value_dim)});
  });
}

tamis_code tamis_kv_copy(const tamis_kv* kv, tamis_kv** out) {
  return make(out, [&] { return std::make_unique<tamis_kv>(required(kv, "kv")); });
}

void tamis_kv_free(tamis_kv* kv) { delete kv; }

tamis_code tamis_kv_append_f32(tamis_kv* kv, const float* k, const float* v, int64_t new_tokens) {
  return guarded([&] {
    tamis::KvStore& store = required(kv, "kv").store;
    check_store(store, new_tokens);
    const std::int64_t rows = store.kv_heads() * new_tokens;
    required(k, rows, "k");
    required(v, rows, "v");
    store.append(tamis::View<const float>(k, rows, store.head_dim()),
                 tamis::View<const float>(v, rows, store.value_dim()));
  });
}

tamis_code tamis_kv_append(tamis_kv* kv, const void* k, const void* v, int64_t new_tokens) {
  return guarded([&] {
    tamis::KvStore& store = required(kv, "kv").store;
    check_store(store, new_tokens);
    store.append(k, v, new_tokens);
  });
}

tamis_code tamis_kv_truncate(tamis_kv* kv, int64_t tokens) {
  return guarded([&] { required(kv, "kv").store.truncate(tokens); });
}

tamis_code tamis_kv_get_info(const tamis_kv* kv, tamis_kv_info* out) {
  return guarded([&] {
    const tamis::KvStore& store = required(kv, "kv").store;
    tamis_kv_info info{};
    info.tokens = store.tokens();
    info.kv_heads = store.kv_heads();
    info.head_dim = store.head_dim();
    info.value_dim = store.value_dim();
    info.dtype = static_cast<tamis_dtype>(store.dtype());
    info.bytes = store.bytes();
    write_struct(out, info, info_size, "tamis_kv_info");
  });
}

tamis_code tamis_kv_get_pages(const tamis_kv* kv, tamis_kv_pages* out, size_t count) {
  return guarded([&] {
    const auto heads = required(kv, "kv").store.heads();
    if (count != heads.size())
      tamis::fail(tamis::Code::usage, "count is {}; the store has {} KV heads", count, heads.size());
    required(out, "out");
    for (std::size_t h = 0; h < heads.size(); ++h)
      out[h] = {heads[h].k, heads[h].v, heads[h].tokens, heads[h].k_stride, heads[h].v_stride};
  });
}
