// Page tables over contiguous arrays.
#include <tamis/kv.h>

#include "attention/check.h"
#include "core/fail.h"

namespace tamis {
namespace {

std::int64_t pages_for(std::int64_t tokens) { return (tokens + page_tokens - 1) / page_tokens; }

void check_heads(DType dtype, std::int64_t kv_heads, std::int64_t head_dim,
                 std::int64_t value_dim) {
  attention::check_kv_dtype(dtype);
  if (kv_heads < 1 || head_dim < 1 || value_dim < 1)
    core::fail(Code::usage, "{} KV heads of sizes {} and {}: all must be positive", kv_heads,
               head_dim, value_dim);
}

}  // namespace

PageTables::PageTables(DType dtype, const void* k, const void* v, std::int64_t kv_heads,
                       std::int64_t tokens, std::int64_t head_dim, std::int64_t value_dim) {
  check_heads(dtype, kv_heads, head_dim, value_dim);
  if (tokens < 0) core::fail(Code::usage, "tokens is {}; it must not be negative", tokens);
  if (tokens > 0 && (k == nullptr || v == nullptr))
    core::fail(Code::usage, "k or v is null for {} tokens", tokens);
  const std::int64_t pages = pages_for(tokens);
  pages_.reserve(static_cast<std::size_t>(2 * kv_heads * pages));
  const auto add_pages = [&](const void* base, std::int64_t head, std::int64_t dim) {
    const auto* bytes = static_cast<const char*>(base);
    for (std::int64_t p = 0; p < pages; ++p)
      pages_.push_back(bytes + (head * tokens + p * page_tokens) * dim * size_of(dtype));
  };
  for (std::int64_t h = 0; h < kv_heads; ++h) {
    add_pages(k, h, head_dim);
    add_pages(v, h, value_dim);
    const void* const* first = pages_.data() + 2 * h * pages;
    heads_.push_back({first, first + pages, tokens, head_dim, value_dim, dtype});
  }
}

}  // namespace tamis
