#include "support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};
/// Calls that still succeed on this thread before one fails; negative if none is to fail.
thread_local std::int64_t until_failure = -1;
thread_local bool has_failed = false;

}  // namespace

#if defined(TAMIS_UNDER_TSAN) && defined(__clang__)

// Clang's thread sanitizer has an operator new that cannot be replaced; it reports its allocations
// through this hook.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             std::size_t),
                                                         void (*free_hook)(const volatile void*));

namespace {

[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++count; }, [](const volatile void*) {});

}  // namespace

#else

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++count;
  if (until_failure >= 0 && until_failure-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif

namespace tamis::test {

std::int64_t allocations() { return count; }

FailingAllocation::FailingAllocation(std::int64_t before) {
  until_failure = before;
  has_failed = false;
}
FailingAllocation::~FailingAllocation() { until_failure = -1; }
bool FailingAllocation::failed() const { return has_failed; }

}  // namespace tamis::test
