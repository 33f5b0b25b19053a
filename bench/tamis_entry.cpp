// tamis::dense behind a C interface for bench/dense.py: page tables, workspace and mask made once, then
// one call per run, as a decode loop would use it.
#include <tamis/attention.h>
#include <tamis/info.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Entry {
  tamis::Shape shape;
  tamis::PageTables pages;
  tamis::Workspace workspace;
  std::vector<std::int64_t> seen;
  std::vector<float> lse;
  std::string message;
};

}  // namespace

#define BENCH_API __attribute__((visibility("default")))

extern "C" {

/// q is [query_heads, queries, d] f32; k and v are [kv_heads, n, d] in `dtype` (0 f16, 1 bf16, 2 f32) and
/// stay the caller's. More than one query means causal prefill of n = queries tokens. Null on failure.
BENCH_API Entry* bench_tamis_new(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t queries,
                                 std::int64_t n, std::int64_t d, int dtype, float scale, int threads,
                                 const void* k, const void* v) try {
  const auto type = static_cast<tamis::DType>(dtype);
  const tamis::Shape shape{query_heads, kv_heads, queries, d, d, type, scale};
  auto entry = std::make_unique<Entry>(Entry{
      shape, tamis::PageTables(type, k, v, kv_heads, n, d, d), tamis::Workspace(threads), {}, {}, {}});
  if (queries > 1)
    for (std::int64_t i = 0; i < queries; ++i) entry->seen.push_back(n - queries + i + 1);
  entry->lse.resize(static_cast<std::size_t>(shape.rows()));
  return entry.release();
} catch (const std::exception&) {
  return nullptr;
}

/// 0 on success; `bench_tamis_message` says what was wrong otherwise.
BENCH_API int bench_tamis_run(Entry* entry, const float* q, float* out) try {
  const tamis::Shape& shape = entry->shape;
  tamis::dense(shape, {q, shape.rows(), shape.head_dim}, entry->pages.heads(), entry->seen,
               entry->workspace, {out, shape.rows(), shape.value_dim}, entry->lse);
  return 0;
} catch (const std::exception& error) {
  entry->message = error.what();
  return 1;
}

BENCH_API const char* bench_tamis_message(const Entry* entry) { return entry->message.c_str(); }

/// Version and SIMD target in use.
BENCH_API const char* bench_tamis_version() {
  static const std::string text = std::string(tamis::version()) + " " + std::string(tamis::target());
  return text.c_str();
}

BENCH_API void bench_tamis_free(Entry* entry) { delete entry; }

}  // extern "C"
