#include "capi/call.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace tamis::capi {
namespace {

/// The sentence of the last failure. If there is no memory for it, a constant takes its place.
struct LastError {
  std::string sentence;
  bool no_memory = false;
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

constexpr const char* no_memory_sentence = "memory is exhausted";

void keep(const char* sentence) noexcept {
  LastError& error = last_error();
  try {
    error.sentence = sentence;
    error.no_memory = false;
  } catch (...) {
    error.no_memory = true;
  }
}

}  // namespace

tamis_code keep_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    keep(error.what());
    return static_cast<tamis_code>(error.code());
  } catch (const std::bad_alloc&) {
    keep(no_memory_sentence);
  } catch (const std::length_error&) {  // thrown by containers for sizes beyond any memory
    keep(no_memory_sentence);
  } catch (const std::exception& error) {
    keep(error.what());
  } catch (...) {
    keep("an unknown exception was thrown inside tamis");
  }
  return TAMIS_INTERNAL;
}

std::int64_t extent(std::initializer_list<std::int64_t> sizes, const char* name) {
  constexpr std::int64_t addressable = std::int64_t{1} << 56;
  for (const std::int64_t size : sizes)
    if (size < 0)
      core::fail(Code::usage, "{} has a size of {}; sizes must not be negative", name, size);
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t product = 1;
  bool fits = true;
  for (const std::int64_t size : sizes)
    fits = fits && !__builtin_mul_overflow(product, size, &product) && product <= addressable;
  if (!fits) core::fail(Code::usage, "{} would take more memory than any machine has", name);
  return product;
}

DType dtype_of(tamis_dtype dtype) {
  if (dtype < TAMIS_F16 || dtype > TAMIS_BOOL)
    core::fail(Code::usage, "dtype {} is not one of TAMIS_F16 ({}) … TAMIS_BOOL ({})", dtype,
               static_cast<int>(TAMIS_F16), static_cast<int>(TAMIS_BOOL));
  return static_cast<DType>(dtype);
}

bool flag_of(std::int32_t flag, const char* name) {
  if (flag != 0 && flag != 1) core::fail(Code::usage, "{} is {}; it must be 0 or 1", name, flag);
  return flag == 1;
}

void check_size(std::size_t size, std::size_t first_version, const char* type) {
  constexpr std::size_t largest = 4096;
  if (size < first_version || size > largest)
    core::fail(Code::usage, "the field size of a {} is {}; set it to sizeof({})", type, size, type);
}

void check_unknown_fields(std::span<const unsigned char> fields, const char* type) {
  if (std::ranges::any_of(fields, [](unsigned char byte) { return byte != 0; }))
    core::fail(Code::usage, "a {} sets fields that this version of tamis does not know", type);
}

}  // namespace tamis::capi

const char* tamis_last_error(void) {
  const auto& error = tamis::capi::last_error();
  return error.no_memory ? tamis::capi::no_memory_sentence : error.sentence.c_str();
}
