// Memory of a cache: pages of a few sizes, each size in slabs of its own, so that giving up all
// pages of one kind (the lowest planes, say) gives whole slabs back. Taking and giving a page costs
// a lock and a list's head; a page's bytes are whatever they were before.
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

  /// Null `memory` for the system's; `capacity` 0 for no limit. Sizes are multiples of 64, and 0
  /// for one that is never asked for.
  Pages(Memory* memory, std::size_t capacity, std::span<const std::size_t> page_bytes);
  /// All pages must have been given back.
  ~Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// A page of the size of this number, aligned to 64 bytes. Throws `internal` if there is no more
  /// memory.
  Page take(std::size_t size);
  /// A slab without a used page goes back to the memory at once, but for one of each size that is
  /// in use.
  void give(Page page) noexcept;

  /// Bytes of all slabs, and of these the ones in pages that are in use.
  [[nodiscard]] std::size_t bytes() const { return taken_; }
  [[nodiscard]] std::size_t used_bytes() const { return used_; }

 private:
  struct Size {
    std::size_t page_bytes = 0;
    std::size_t pages = 0;  ///< in all slabs
    std::size_t used = 0;   ///< of these
    Slab* open = nullptr;   ///< slabs with used and unused pages, a list
    Slab* spare = nullptr;  ///< a slab without a used page
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
