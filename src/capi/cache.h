// The handle of a cache in the C ABI.
#pragma once

#include <tamis/cache.h>

#include <memory>
#include <span>

#include "capi/call.h"

namespace tamis::capi {

/// The allocator that a C caller provides.
class CMemory final : public Memory {
 public:
  /// Throws `usage` if a function is missing.
  explicit CMemory(const tamis_memory* from);

  void* allocate(std::size_t bytes) noexcept override { return c_.allocate(c_.context, bytes); }
  void release(void* memory, std::size_t bytes) noexcept override {
    c_.release(c_.context, memory, bytes);
  }

 private:
  tamis_memory c_;
};

}  // namespace tamis::capi

struct tamis_cache {
  std::unique_ptr<tamis::capi::CMemory> memory;  ///< null for the system's; must outlive the cache
  tamis::Cache cache;
};

namespace tamis::capi {

static_assert(sizeof(tamis_sequence) == sizeof(Sequence));

/// `count` elements of the caller's array, which may be null only if count is 0.
template <class T>
std::span<const T> array(const T* data, std::size_t count, const char* name) {
  constexpr std::size_t most = std::size_t{1} << 40;
  if (count > most) core::fail(Code::usage, "{} would have {} elements", name, count);
  return required(data, static_cast<std::int64_t>(count), name);
}

/// Throws `usage` unless a reserved field is 0.
inline void check_reserved(std::int32_t field, const char* type) {
  if (field != 0)
    core::fail(Code::usage, "the field reserved of a {} is {}; it must be 0", type, field);
}

}  // namespace tamis::capi
