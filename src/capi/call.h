// What every entry point of the C ABI shares. No exception gets out, arguments are checked before
// use, and structs of callers older or newer than this library are read and written up to the size
// that they state.
#pragma once

#include <tamis/tamis.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include <tamis/dtype.h>

#include "core/fail.h"
#include "core/inside.h"

namespace tamis::capi {

/// Stores the sentence of the current exception for tamis_last_error and returns its code.
TAMIS_INSIDE tamis_code keep_current_exception() noexcept;

/// Runs one call and turns exceptions into codes.
template <class Body>
tamis_code guarded(Body&& body) noexcept {
  try {
    body();
    return TAMIS_OK;
  } catch (...) {
    return keep_current_exception();
  }
}

template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) core::fail(Code::usage, "{} is null", name);
  return *pointer;
}

/// `count` elements of an array, which may be null only if count is 0.
template <class T>
std::span<T> required(T* data, std::int64_t count, const char* name) {
  if (count < 0) core::fail(Code::usage, "{} would have {} elements", name, count);
  if (data == nullptr && count > 0) core::fail(Code::usage, "{} is null", name);
  return {data, static_cast<std::size_t>(count)};
}

/// The product of sizes. Throws `usage` if one is negative or the product exceeds any memory.
TAMIS_INSIDE std::int64_t extent(std::initializer_list<std::int64_t> sizes, const char* name);

TAMIS_INSIDE DType dtype_of(tamis_dtype dtype);

/// Throws `usage` unless `flag` is 0 or 1.
TAMIS_INSIDE bool flag_of(std::int32_t flag, const char* name);

/// `create` makes the object behind a handle; *out is null unless it succeeds.
template <class Handle, class Create>
tamis_code make(Handle** out, Create&& create) noexcept {
  return guarded([&] {
    required(out, "out") = nullptr;
    *out = create().release();
  });
}

/// Throws `usage` unless a caller's struct has at least the fields of the first version. An upper
/// limit detects a size that was never set, before memory is read because of it.
TAMIS_INSIDE void check_size(std::size_t size, std::size_t first_version, const char* type);

/// Throws `usage` unless the fields this library does not know are all zero.
TAMIS_INSIDE void check_unknown_fields(std::span<const unsigned char> fields, const char* type);

/// Reads a caller's struct, with zeros for fields that it does not have.
template <class Struct>
Struct read_struct(const Struct* from, std::size_t first_version, const char* type) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = required(from, type).size;
  check_size(size, first_version, type);
  Struct result{};
  std::memcpy(&result, from, size < sizeof result ? size : sizeof result);
  if (size > sizeof result)
    check_unknown_fields(
        {reinterpret_cast<const unsigned char*>(from) + sizeof result, size - sizeof result}, type);
  return result;
}

/// True if no padding follows `field`, the last of a struct. A field that is added later must not
/// lie in bytes that older callers already count in `size`.
#define TAMIS_ENDS_WITH(Struct, field) \
  (offsetof(Struct, field) + sizeof(Struct::field) == sizeof(Struct))

/// Writes the fields that the caller has. Those that this library does not know become zero.
template <class Struct>
void write_struct(Struct* out, Struct value, std::size_t first_version, const char* type) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = required(out, "out").size;
  check_size(size, first_version, type);
  value.size = size;
  std::memset(out, 0, size);
  std::memcpy(out, &value, size < sizeof value ? size : sizeof value);
}

}  // namespace tamis::capi
