// The page allocator of a cache. Pages have a few sizes, and each size has slabs of its own,
// so that releasing all pages of one kind (such as the lowest planes) releases whole slabs.
// Taking or giving back a page costs a lock and a constant number of list operations. Pages
// are not initialised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <tamis/cache.h>

namespace tamis::cache {

class Pages {
 public:
  struct Slab;
  struct Page {
    std::byte* at = nullptr;
    Slab* slab = nullptr;
  };

  /// A null `memory` means the system's memory; a `capacity` of 0 means no limit. Page sizes are
  /// multiples of 64; a size of 0 is allowed if no page of that size is ever taken.
  Pages(Memory* memory, std::size_t capacity, std::span<const std::size_t> page_bytes);
  /// All pages must have been given back.
  ~Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// Returns a page of size number `size`, an index into `page_bytes`, aligned to 64 bytes. Throws
  /// `internal` if there is no more memory.
  Page take(std::size_t size);
  /// Gives a page back. A slab without a used page is released at once, except that one such slab
  /// is kept for each size of which other pages are in use.
  void give(Page page) noexcept;

  /// Bytes of all slabs, and of the pages in them that are in use.
  [[nodiscard]] std::size_t bytes() const { return taken_; }
  [[nodiscard]] std::size_t used_bytes() const { return used_; }

 private:
  struct Size {
    std::size_t page_bytes = 0;
    std::size_t pages = 0;  ///< pages in all slabs of this size
    std::size_t used = 0;   ///< how many of them are in use
    Slab* open = nullptr;   ///< list of the slabs with both used and unused pages
    Slab* spare = nullptr;  ///< a slab without a used page, or null
  };

  Slab* make_slab_of(Size& size);
  void release(Size& size, Slab* slab) noexcept;
  void release_spare(Size& size) noexcept;
  [[nodiscard]] std::size_t room() const;

  Memory& memory_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::vector<Size> sizes_;
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> used_{0};
};

using Page = Pages::Page;

}  // namespace tamis::cache
