// Memory for arrays that never move: whole pages from the system, in huge pages where it agrees.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace tamis {

struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* p) const { munmap(p, bytes); }
};
using Slab = std::unique_ptr<std::byte, Unmap>;

/// Zeroed bytes, aligned to a page.
inline Slab make_slab(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: fewer TLB misses where the kernel agrees
  return Slab(static_cast<std::byte*>(memory), Unmap{bytes});
}

}  // namespace tamis
