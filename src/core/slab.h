// Memory for arrays that never move: whole pages from the system, huge ones where it allows them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tamis::core {

struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* p) const { munmap(p, bytes); }
};
using Slab = std::unique_ptr<std::byte, Unmap>;

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Zeroed memory of `bytes` bytes, aligned to a page. From half a huge page on it is aligned to a
/// huge page and its size rounded up to a multiple of one.
inline Slab make_slab(std::size_t bytes) {
  const bool huge = bytes >= huge_page / 2;
  const std::size_t wanted = huge ? (bytes + huge_page - 1) / huge_page * huge_page : bytes;
  const std::size_t mapped = huge ? wanted + huge_page : wanted;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(memory);
  if (huge) {  // gives back what lies before the first huge page and after the last
    const std::size_t before =
        (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
    if (before > 0) munmap(first, before);
    munmap(first + before + wanted, huge_page - before);
    first += before;
    madvise(first, wanted, MADV_HUGEPAGE);  // a hint: fewer TLB misses where the kernel agrees
  }
  return Slab(first, Unmap{wanted});
}

}  // namespace tamis::core
