// Page tables over contiguous arrays, and a store that owns pages and never moves them.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include <tamis/kv.h>

#include "attention/check.h"
#include "core/fail.h"
#include "core/inside_of.h"
#include "core/slab.h"

namespace tamis {
namespace {

std::int64_t pages_for(std::int64_t tokens) { return (tokens + page_tokens - 1) / page_tokens; }

/// A number that no page of this process has had.
std::uint64_t new_stamp() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void check_heads(DType dtype, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t value_dim) {
  check_kv_dtype(dtype);
  if (kv_heads < 1 || head_dim < 1 || value_dim < 1)
    fail(Code::usage, "{} KV heads of sizes {} and {}: all must be positive", kv_heads, head_dim,
         value_dim);
}

}  // namespace

PageTables::PageTables(DType dtype, const void* k, const void* v, std::int64_t kv_heads,
                       std::int64_t tokens, std::int64_t head_dim, std::int64_t value_dim) {
  check_heads(dtype, kv_heads, head_dim, value_dim);
  if (tokens < 0) fail(Code::usage, "tokens is {}; it must not be negative", tokens);
  if (tokens > 0 && (k == nullptr || v == nullptr))
    fail(Code::usage, "k or v is null for {} tokens", tokens);
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
    heads_.push_back({first, first + pages, tokens, head_dim, value_dim, dtype, nullptr});
  }
}

// Pages come from slabs that hold the same number of consecutive pages of every head, K and V each in
// one run, so that a scan of a head reads long stretches. Slabs double up to 32 pages.
struct KvStore::Impl {
  DType dtype;
  std::int64_t kv_heads;
  std::int64_t head_dim;
  std::int64_t value_dim;
  std::int64_t tokens = 0;
  std::int64_t pages = 0;  // room for, per head
  std::vector<Slab> slabs;
  std::vector<std::vector<void*>> k;  // per head: page addresses
  std::vector<std::vector<void*>> v;
  std::vector<std::uint64_t> stamps;  // of the pages that hold a token
  std::vector<KvPages> heads;

  void add_slab() {
    const std::int64_t count = std::clamp<std::int64_t>(pages, 1, 32);
    const std::int64_t k_bytes = page_tokens * head_dim * size_of(dtype);
    const std::int64_t v_bytes = page_tokens * value_dim * size_of(dtype);
    const auto bytes = static_cast<std::size_t>(kv_heads * count * (k_bytes + v_bytes));
    slabs.reserve(slabs.size() + 1);  // so that nothing can fail between taking memory and keeping it
    slabs.push_back(make_slab(bytes));
    std::byte* at = slabs.back().get();
    for (std::size_t h = 0; h < k.size(); ++h) {
      for (std::int64_t p = 0; p < count; ++p, at += k_bytes) k[h].push_back(at);
      for (std::int64_t p = 0; p < count; ++p, at += v_bytes) v[h].push_back(at);
    }
    pages += count;
  }

  void reserve(std::int64_t wanted) try {
    while (pages < pages_for(wanted)) add_slab();
    stamps.reserve(static_cast<std::size_t>(pages));
  } catch (...) {
    refresh();  // the page tables may have moved
    throw;
  }

  void refresh() {
    for (std::size_t h = 0; h < heads.size(); ++h)
      heads[h] = {k[h].data(), v[h].data(), tokens, head_dim, value_dim, dtype, stamps.data()};
  }

  /// Sets the number of tokens, for which there is room; stamps pages that are new.
  void set_tokens(std::int64_t count) {
    tokens = count;
    stamps.resize(std::min(stamps.size(), static_cast<std::size_t>(pages_for(count))));
    while (std::ssize(stamps) < pages_for(count)) stamps.push_back(new_stamp());
    refresh();
  }
  /// Tokens may follow in the last page that are not those which stood, or stand elsewhere, under its
  /// stamp.
  void stamp_rest() {
    if (tokens % page_tokens != 0) stamps.back() = new_stamp();
  }

  /// Calls put(address, row) for rows 0 … count − 1 of a head, in their places after the last token.
  template <class Put>
  void place_rows(const std::vector<void*>& table, std::int64_t count, std::int64_t dim, Put put) const {
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t place = tokens + t;
      auto* page = static_cast<std::byte*>(table[static_cast<std::size_t>(place / page_tokens)]);
      put(page + place % page_tokens * dim * size_of(dtype), t);
    }
  }

  /// Appends `count` tokens; put_k(address, head, row) and put_v write one row each and must not throw.
  template <class PutK, class PutV>
  void append(std::int64_t count, PutK put_k, PutV put_v) {
    reserve(tokens + count);
    for (std::size_t h = 0; h < k.size(); ++h) {
      const auto head = static_cast<std::int64_t>(h);
      place_rows(k[h], count, head_dim,
                 [&](std::byte* to, std::int64_t t) { put_k(to, head * count + t); });
      place_rows(v[h], count, value_dim,
                 [&](std::byte* to, std::int64_t t) { put_v(to, head * count + t); });
    }
    set_tokens(tokens + count);
  }
};

namespace {

/// Looks at the exponents of the bit patterns, which all dtypes have in the same place of their own width.
template <class Bits>
void check_finite(const void* data, std::int64_t elements, Bits exponent, const char* name,
                  std::int64_t row_length) {
  for (std::int64_t i = 0; i < elements; ++i) {
    Bits bits;
    std::memcpy(&bits, static_cast<const std::byte*>(data) + i * static_cast<std::int64_t>(sizeof bits),
                sizeof bits);
    if ((bits & exponent) == exponent)
      fail(Code::input, "row {} of the {} to append, element {}, is NaN or infinite", i / row_length, name,
           i % row_length);
  }
}

void check_finite(DType dtype, const void* data, std::int64_t elements, const char* name,
                  std::int64_t row_length) {
  if (dtype == DType::f32) {
    check_finite<std::uint32_t>(data, elements, 0x7F80'0000U, name, row_length);
  } else {
    check_finite<std::uint16_t>(data, elements, dtype == DType::f16 ? 0x7C00 : 0x7F80, name, row_length);
  }
}

/// The smallest magnitude that rounds to infinity in a dtype.
float overflow_threshold(DType dtype) {
  if (dtype == DType::f16) return 65520.0F;
  if (dtype == DType::bf16) return 0x1.FFp127F;
  return std::numeric_limits<float>::infinity();
}

void check_fits(DType dtype, View<const float> rows, const char* name) {
  const float threshold = overflow_threshold(dtype);
  for (std::int64_t i = 0; i < rows.rows; ++i)
    for (const float x : rows.row(i))
      if (!(std::abs(x) < threshold))
        fail(Code::input, "row {} of the {} to append holds {}, which is not a finite {}", i, name, x,
             name_of(dtype));
}

void round_row(DType dtype, std::span<const float> from, std::byte* to) {
  switch (dtype) {
    case DType::f16:
      for (std::size_t c = 0; c < from.size(); ++c) reinterpret_cast<f16*>(to)[c] = to_f16(from[c]);
      break;
    case DType::bf16:
      for (std::size_t c = 0; c < from.size(); ++c) reinterpret_cast<bf16*>(to)[c] = to_bf16(from[c]);
      break;
    default:
      std::memcpy(to, from.data(), from.size_bytes());
  }
}

}  // namespace

KvStore::KvStore(DType dtype, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t value_dim) {
  check_heads(dtype, kv_heads, head_dim, value_dim);
  impl_ = std::make_unique<Impl>();
  impl_->dtype = dtype;
  impl_->kv_heads = kv_heads;
  impl_->head_dim = head_dim;
  impl_->value_dim = value_dim;
  impl_->k.resize(static_cast<std::size_t>(kv_heads));
  impl_->v.resize(static_cast<std::size_t>(kv_heads));
  impl_->heads.resize(static_cast<std::size_t>(kv_heads));
  impl_->refresh();
}

KvStore::~KvStore() = default;
KvStore::KvStore(KvStore&&) noexcept = default;
KvStore& KvStore::operator=(KvStore&&) noexcept = default;

KvStore::KvStore(const KvStore& other)
    : KvStore(other.dtype(), other.kv_heads(), other.head_dim(), other.value_dim()) {
  const Impl& from = other.inside();
  impl_->reserve(from.tokens);
  const auto copy_pages = [&](const std::vector<void*>& to, const std::vector<void*>& source,
                              std::int64_t dim) {
    for (std::int64_t first = 0; first < from.tokens; first += page_tokens) {
      const auto page = static_cast<std::size_t>(first / page_tokens);
      const std::int64_t rows = std::min(page_tokens, from.tokens - first);
      std::memcpy(to[page], source[page], static_cast<std::size_t>(rows * dim * size_of(from.dtype)));
    }
  };
  for (std::size_t h = 0; h < from.k.size(); ++h) {
    copy_pages(impl_->k[h], from.k[h], from.head_dim);
    copy_pages(impl_->v[h], from.v[h], from.value_dim);
  }
  impl_->stamps = from.stamps;
  impl_->set_tokens(from.tokens);
  impl_->stamp_rest();
}

KvStore& KvStore::operator=(const KvStore& other) {
  if (this != &other) *this = KvStore(other);
  return *this;
}

void KvStore::append(View<const float> k, View<const float> v) {
  Impl& store = inside();
  if (k.rows < 0 || k.rows != v.rows || k.rows % store.kv_heads != 0 || k.stride < k.cols ||
      v.stride < v.cols || k.cols != store.head_dim || v.cols != store.value_dim)
    fail(Code::usage,
         "keys of {} × {} and values of {} × {} cannot be appended to {} heads of sizes {} and {}: both "
         "need one row "
         "per head and token",
         k.rows, k.cols, v.rows, v.cols, store.kv_heads, store.head_dim, store.value_dim);
  check_fits(store.dtype, k, "keys");
  check_fits(store.dtype, v, "values");
  store.append(
      k.rows / store.kv_heads,
      [&](std::byte* to, std::int64_t row) { round_row(store.dtype, k.row(row), to); },
      [&](std::byte* to, std::int64_t row) { round_row(store.dtype, v.row(row), to); });
}

void KvStore::append(const void* k, const void* v, std::int64_t new_tokens) {
  Impl& store = inside();
  if (new_tokens < 0 || (new_tokens > 0 && (k == nullptr || v == nullptr)))
    fail(Code::usage, "{} tokens to append, or null keys or values", new_tokens);
  check_finite(store.dtype, k, store.kv_heads * new_tokens * store.head_dim, "keys", store.head_dim);
  check_finite(store.dtype, v, store.kv_heads * new_tokens * store.value_dim, "values", store.value_dim);
  const auto put = [&store](const void* rows, std::int64_t dim) {
    const auto bytes = static_cast<std::size_t>(dim * size_of(store.dtype));
    return [from = static_cast<const std::byte*>(rows), bytes](std::byte* to, std::int64_t row) {
      std::memcpy(to, from + static_cast<std::size_t>(row) * bytes, bytes);
    };
  };
  store.append(new_tokens, put(k, store.head_dim), put(v, store.value_dim));
}

void KvStore::truncate(std::int64_t tokens) {
  Impl& store = inside();
  if (tokens < 0 || tokens > store.tokens)
    fail(Code::usage, "cannot truncate {} tokens to {}", store.tokens, tokens);
  if (tokens == store.tokens) return;
  store.set_tokens(tokens);
  store.stamp_rest();
}

KvStore::Impl& KvStore::inside() const { return inside_of(impl_, "a KvStore"); }
DType KvStore::dtype() const { return inside().dtype; }
std::int64_t KvStore::tokens() const { return inside().tokens; }
std::int64_t KvStore::kv_heads() const { return inside().kv_heads; }
std::int64_t KvStore::head_dim() const { return inside().head_dim; }
std::int64_t KvStore::value_dim() const { return inside().value_dim; }
std::span<const KvPages> KvStore::heads() const { return inside().heads; }

std::size_t KvStore::bytes() const {
  std::size_t total = 0;
  for (const auto& slab : inside().slabs) total += slab.get_deleter().bytes;
  return total;
}

}  // namespace tamis
