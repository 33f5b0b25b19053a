#include "cache/store.h"

#include <memory>

namespace tamis::cache {
namespace {

/// The numbering of page sizes: first the planes, then raw pages for 1, 2, 4 … 128 tokens.
constexpr std::size_t plane_size(int plane) { return static_cast<std::size_t>(plane); }
constexpr std::size_t raw_size(int size) { return static_cast<std::size_t>(most_levels + size); }

std::array<std::size_t, most_levels + raw_sizes> sizes(const Layout& layout, const RawLayout& raw) {
  std::array<std::size_t, most_levels + raw_sizes> bytes{};
  for (int plane = 0; plane < most_levels; ++plane)
    bytes[plane_size(plane)] = layout.page_bytes(plane);
  for (int size = 0; size < raw_sizes; ++size)
    bytes[raw_size(size)] = raw.page_bytes(std::int64_t{1} << size);
  return bytes;
}

}  // namespace

Store::Store(const Heads& heads, const CacheOptions& options)
    : layout_(heads.kv_heads, heads.key_dim, heads.value_dim),
      raw_(heads, options.dtype),
      levels_(options.bits / 4),
      pages_(options.memory, options.capacity, sizes(layout_, raw_)) {}

RawPage* Store::make_raw_page() {
  auto made = std::make_unique<RawPage>();
  made->page = pages_.take(raw_size(raw_sizes - 1));
  count_books(sizeof(RawPage));
  return made.release();
}

Block* Store::make_block(int levels, std::int64_t raw_tokens) {
  auto made = std::make_unique<Block>();
  int plane = 0;
  try {
    for (; plane < levels; ++plane) {
      const auto p = static_cast<std::size_t>(plane);
      made->page[p] = pages_.take(plane_size(plane));
      made->users[p] = 1;
    }
    if (raw_tokens > 0) {
      const int size = raw_size_for(raw_tokens);
      made->raw = pages_.take(raw_size(size));
      made->raw_tokens = static_cast<std::int32_t>(raw_tokens);
      made->raw_rows = 1 << size;
    }
  } catch (...) {
    while (plane > 0) pages_.give(made->page[static_cast<std::size_t>(--plane)]);
    throw;
  }
  count_books(sizeof(Block));
  return made.release();
}

void Store::place_raw(Block& block, const TokenMask& raw) const noexcept {
  if (block.raw_tokens == 0) return;
  std::byte* place = block.raw.at + raw_.places_at(block.raw_rows);
  for (std::int64_t j = 0; j < page_tokens; ++j)
    if (in_mask(raw, j)) *place++ = static_cast<std::byte>(j);
}

void Store::drop(RawPage* page) noexcept {
  if (page->users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  const std::unique_ptr<RawPage> owned(page);
  pages_.give(page->page);
  count_books(-static_cast<std::ptrdiff_t>(sizeof(RawPage)));
}

void Store::share(Block* block, int levels) noexcept {
  for (std::size_t p = 0; p < static_cast<std::size_t>(levels); ++p)
    block->users[p].fetch_add(1, std::memory_order_relaxed);
}

/// Page 0 comes last, because it has all users of the block: when its last use is dropped, no other
/// thread reads the other counts any more, and the block can be deleted.
void Store::drop(Block* block, int from, int levels) noexcept {
  bool last = false;
  for (int plane = levels - 1; plane >= from; --plane) {
    const auto p = static_cast<std::size_t>(plane);
    last = block->users[p].fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (last) pages_.give(block->page[p]);
  }
  if (!last || from > 0) return;
  const std::unique_ptr<Block> owned(block);
  if (block->raw.at != nullptr) pages_.give(block->raw);
  count_books(-static_cast<std::ptrdiff_t>(sizeof(Block)));
}

std::size_t Store::free_bytes() const {
  const std::size_t used = pages_.used_bytes();
  const std::size_t taken = pages_.bytes();
  return taken > used ? taken - used : 0;
}

}  // namespace tamis::cache
