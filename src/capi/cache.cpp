// C ABI: the cache of keys and values.
#include "capi/cache.h"

#include "capi/workspace.h"

namespace tamis::capi {
namespace {

constexpr std::size_t heads_size = 48;  // sizes of the structs in their first published versions
constexpr std::size_t memory_size = 32;
constexpr std::size_t options_size = 48;
constexpr std::size_t info_size = 32;
constexpr std::size_t rows_size = 56;
static_assert(sizeof(tamis_heads) == heads_size && TAMIS_ENDS_WITH(tamis_heads, reserved));
static_assert(sizeof(tamis_memory) == memory_size && TAMIS_ENDS_WITH(tamis_memory, release));
static_assert(sizeof(tamis_cache_options) == options_size &&
              TAMIS_ENDS_WITH(tamis_cache_options, memory));  // NOLINT(bugprone-sizeof-expression)
static_assert(sizeof(tamis_cache_info) == info_size &&
              TAMIS_ENDS_WITH(tamis_cache_info, free_bytes));
static_assert(sizeof(tamis_rows) == rows_size && TAMIS_ENDS_WITH(tamis_rows, sequence_stride));

Heads heads_of(const tamis_heads* from) {
  const tamis_heads c = read_struct(from, heads_size, "tamis_heads");
  check_reserved(c.reserved, "tamis_heads");
  return {c.query_heads, c.kv_heads, c.key_dim, c.value_dim, c.scale};
}

/// The value of a field where 0 means the default and −1 means 0.
std::int64_t number_of(std::int64_t given, std::int64_t otherwise) {
  return given == 0 ? otherwise : given == -1 ? 0 : given;
}

CacheOptions options_of(const tamis_cache_options& c) {
  CacheOptions options;
  if (c.bits != 0) options.bits = c.bits;
  options.dtype = dtype_of(c.dtype);
  options.sinks = number_of(c.sinks, options.sinks);
  options.raw_below = number_of(c.raw_below, options.raw_below);
  options.capacity = c.capacity;
  return options;
}

std::unique_ptr<tamis_cache> create(const tamis_heads* heads, const tamis_cache_options* from) {
  CacheOptions options;
  std::unique_ptr<CMemory> memory;
  if (from != nullptr) {
    const tamis_cache_options c = read_struct(from, options_size, "tamis_cache_options");
    options = options_of(c);
    if (c.memory != nullptr) memory = std::make_unique<CMemory>(c.memory);
    options.memory = memory.get();
  }
  Cache cache(heads_of(heads), options);
  return std::make_unique<tamis_cache>(tamis_cache{std::move(memory), std::move(cache)});
}

Rows rows_of(const tamis_rows* from) {
  const tamis_rows c = read_struct(from, rows_size, "tamis_rows");
  check_reserved(c.reserved, "tamis_rows");
  return {c.data,
          dtype_of(c.dtype),
          c.token_stride,
          c.head_stride,
          c.channel_stride == 0 ? 1 : c.channel_stride,
          c.sequence_stride};
}

Cache& cache_of(tamis_cache* cache) { return required(cache, "cache").cache; }
const Cache& cache_of(const tamis_cache* cache) { return required(cache, "cache").cache; }

}  // namespace

CMemory::CMemory(const tamis_memory* from) : c_(read_struct(from, memory_size, "tamis_memory")) {
  if (c_.allocate == nullptr || c_.release == nullptr)
    core::fail(Code::usage, "a tamis_memory has no function {}",
               c_.allocate == nullptr ? "allocate" : "release");
}

}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

tamis_code tamis_cache_create(const tamis_heads* heads, const tamis_cache_options* options,
                              tamis_cache** out) {
  return make(out, [&] { return create(heads, options); });
}

void tamis_cache_free(tamis_cache* cache) { delete cache; }

tamis_code tamis_cache_get_info(const tamis_cache* cache, tamis_cache_info* out) {
  return guarded([&] {
    const tamis::Cache& c = cache_of(cache);
    const tamis_cache_info info{sizeof info, static_cast<std::int64_t>(c.sequences()), c.bytes(),
                                c.free_bytes()};
    write_struct(out, info, info_size, "tamis_cache_info");
  });
}

tamis_code tamis_cache_add(tamis_cache* cache, tamis_sequence sequence) {
  return guarded([&] { cache_of(cache).add(sequence); });
}

tamis_code tamis_cache_fork(tamis_cache* cache, tamis_sequence from, int64_t tokens,
                            tamis_sequence to) {
  return guarded([&] { cache_of(cache).fork(from, tokens, to); });
}

tamis_code tamis_cache_remove(tamis_cache* cache, tamis_sequence sequence) {
  return guarded([&] { cache_of(cache).remove(sequence); });
}

tamis_code tamis_cache_contains(const tamis_cache* cache, tamis_sequence sequence, int* contains) {
  return guarded(
      [&] { required(contains, "contains") = cache_of(cache).contains(sequence) ? 1 : 0; });
}

tamis_code tamis_cache_tokens(const tamis_cache* cache, tamis_sequence sequence, int64_t* tokens) {
  return guarded([&] { required(tokens, "tokens") = cache_of(cache).tokens(sequence); });
}

tamis_code tamis_cache_append(tamis_cache* cache, size_t count, const tamis_sequence* sequences,
                              const int64_t* tokens, const tamis_rows* keys,
                              const tamis_rows* values, tamis_workspace* workspace) {
  return guarded([&] {
    tamis::Cache& c = cache_of(cache);
    const auto to = array(sequences, count, "sequences");
    const auto many = array(tokens, count, "tokens");
    c.append(to, many, rows_of(keys), rows_of(values), required(workspace, "workspace").workspace);
  });
}

tamis_code tamis_cache_truncate(tamis_cache* cache, tamis_sequence sequence, int64_t tokens) {
  return guarded([&] { cache_of(cache).truncate(sequence, tokens); });
}

tamis_code tamis_cache_shed(tamis_cache* cache, tamis_sequence sequence, int32_t bits,
                            int64_t tokens) {
  return guarded([&] { cache_of(cache).shed(sequence, bits, tokens); });
}

tamis_code tamis_cache_save(const tamis_cache* cache, tamis_sequence sequence, const char* path) {
  return guarded([&] { cache_of(cache).save(sequence, &required(path, "path")); });
}

tamis_code tamis_cache_load(tamis_cache* cache, tamis_sequence sequence, const char* path) {
  return guarded([&] { cache_of(cache).load(sequence, &required(path, "path")); });
}
