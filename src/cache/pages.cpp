#include "cache/pages.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "core/fail.h"
#include "core/slab.h"

namespace tamis::cache {
namespace {

constexpr std::size_t system_page = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// Allocates whole pages from the operating system, and huge pages for a multiple of their size.
class SystemMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) noexcept override try {
    if (bytes % core::huge_page == 0) return core::make_slab(bytes).release();
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void release(void* memory, std::size_t bytes) noexcept override { munmap(memory, bytes); }
};

Memory& system_memory() {
  static SystemMemory memory;
  return memory;
}

/// Returns the size of a slab for `pages` pages: a whole huge page if that wastes little.
std::size_t slab_bytes(std::size_t page_bytes, std::size_t pages) {
  const std::size_t bytes = rounded_up(page_bytes * pages, system_page);
  return bytes <= core::huge_page && bytes >= core::huge_page / 8 * 7 ? core::huge_page : bytes;
}

}  // namespace

/// A slab. Pages that were given back form a linked list, with the links in the pages themselves.
/// Pages from number `fresh` on were never used.
struct Pages::Slab {
  std::byte* memory;
  std::size_t bytes;
  std::size_t size;  ///< the number of its page size
  std::size_t pages;
  std::size_t used = 0;
  std::size_t fresh = 0;
  std::byte* free = nullptr;
  Slab* before = nullptr;  ///< in the list of open slabs
  Slab* after = nullptr;

  [[nodiscard]] bool full() const { return used == pages; }

  std::byte* take(std::size_t page_bytes) {
    ++used;
    if (free == nullptr) return memory + page_bytes * fresh++;
    std::byte* const page = free;
    std::memcpy(&free, page, sizeof free);
    return page;
  }
  void give(std::byte* page) {
    --used;
    std::memcpy(page, &free, sizeof free);
    free = page;
  }
  void open(Slab*& first) {
    before = nullptr;
    after = first;
    if (after != nullptr) after->before = this;
    first = this;
  }
  void close(Slab*& first) const {
    (before == nullptr ? first : before->after) = after;
    if (after != nullptr) after->before = before;
  }
};

Pages::Pages(Memory* memory, std::size_t capacity, std::span<const std::size_t> page_bytes)
    : memory_(memory != nullptr ? *memory : system_memory()),
      capacity_(capacity == 0 ? std::numeric_limits<std::size_t>::max() : capacity) {
  for (const std::size_t bytes : page_bytes) sizes_.push_back({.page_bytes = bytes});
}

std::size_t Pages::room() const { return capacity_ - std::min<std::size_t>(capacity_, taken_); }

/// Allocates a slab as large as all slabs of this page size together, but at least one system page
/// and at most one huge page. A slab has at least one page of its size. Near the capacity, slabs
/// become smaller.
Pages::Slab* Pages::make_slab_of(Size& size) {
  const std::size_t page = size.page_bytes;
  const std::size_t least = std::max<std::size_t>(1, system_page / page);
  const std::size_t most = std::max<std::size_t>(1, core::huge_page / page);
  std::size_t pages = std::clamp(size.pages, least, most);
  if (slab_bytes(page, pages) > room()) {
    for (Size& other : sizes_) release_spare(other);
    while (pages > 1 && slab_bytes(page, pages) > room()) pages /= 2;
  }
  const std::size_t bytes = slab_bytes(page, pages);
  if (bytes > room())
    core::fail(Code::internal,
               "the cache's capacity of {} bytes is exhausted: {} are taken and {} more are "
               "needed; remove or shed sequences, or give it more",
               capacity_, taken_.load(), bytes);
  auto slab = std::make_unique<Slab>();
  slab->memory = static_cast<std::byte*>(memory_.allocate(bytes));
  if (slab->memory == nullptr)
    core::fail(Code::internal, "there is no memory for {} more bytes of the cache, which has {}",
               bytes, taken_.load());
  slab->bytes = bytes;
  slab->size = static_cast<std::size_t>(&size - sizes_.data());
  slab->pages = bytes / page;
  size.pages += slab->pages;
  taken_ += bytes;
  return slab.release();
}

void Pages::release(Size& size, Slab* slab) noexcept {
  const std::unique_ptr<Slab> owned(slab);
  size.pages -= slab->pages;
  taken_ -= slab->bytes;
  memory_.release(slab->memory, slab->bytes);
}

void Pages::release_spare(Size& size) noexcept {
  if (size.spare != nullptr) release(size, std::exchange(size.spare, nullptr));
}

Page Pages::take(std::size_t number) {
  const std::lock_guard lock(mutex_);
  Size& size = sizes_[number];
  if (size.open == nullptr) {
    Slab* const slab =
        size.spare != nullptr ? std::exchange(size.spare, nullptr) : make_slab_of(size);
    slab->open(size.open);
  }
  Slab* const slab = size.open;
  const Page page{slab->take(size.page_bytes), slab};
  if (slab->full()) slab->close(size.open);
  ++size.used;
  used_ += size.page_bytes;
  return page;
}

void Pages::give(Page page) noexcept {
  const std::lock_guard lock(mutex_);
  Slab* const slab = page.slab;
  Size& size = sizes_[slab->size];
  if (slab->full()) slab->open(size.open);
  slab->give(page.at);
  --size.used;
  used_ -= size.page_bytes;
  if (slab->used > 0) return;
  slab->close(size.open);
  if (size.spare == nullptr && size.used > 0) {
    size.spare = slab;
    return;
  }
  release(size, slab);
  if (size.used == 0) release_spare(size);
}

}  // namespace tamis::cache
