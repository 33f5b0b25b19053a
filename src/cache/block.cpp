#include "cache/block.h"

namespace tamis::cache {

Layout::Layout(std::int64_t heads, std::int64_t key, std::int64_t value)
    : kv_heads(heads),
      key_dim(key),
      key_d32((key + 31) / 32 * 32),
      value_dim(value),
      value_d32((value + 31) / 32 * 32) {
  key_centre = sizeof(BlockHead);
  key_step = key_centre + static_cast<std::size_t>(2 * key_d32);
  value_centre = key_step + static_cast<std::size_t>(2 * key_d32);
  value_step = value_centre + static_cast<std::size_t>(2 * value_d32);
  key_plane0 = (value_step + static_cast<std::size_t>(2 * value_d32) + 63) / 64 * 64;
  key_plane_bytes = static_cast<std::size_t>(page_tokens * key_d32 / 2);
  value_plane_bytes = static_cast<std::size_t>(page_tokens * value_d32 / 2);
  record_bytes = key_plane0 + key_plane_bytes;
}

HeadBlock head_block(const Layout& layout, const std::byte* const* pages, int levels,
                     std::int64_t head) {
  const auto h = static_cast<std::size_t>(head);
  HeadBlock block{&layout, pages[0] + h * layout.head_bytes(0), {}, {}};
  for (int p = 0; p < levels; ++p) {
    const auto l = static_cast<std::size_t>(p);
    const std::byte* at = pages[p] + h * layout.head_bytes(p);
    block.key_plane[l] =
        reinterpret_cast<const std::uint8_t*>(p == 0 ? at + layout.key_plane0 : at);
    block.value_plane[l] = reinterpret_cast<const std::uint8_t*>(
        at + (p == 0 ? layout.record_bytes : layout.key_plane_bytes));
  }
  return block;
}

}  // namespace tamis::cache
