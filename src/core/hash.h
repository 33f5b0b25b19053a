// A hash of bytes that arrive in pieces: XXH64 (xxHash) with seed 0. It detects damage and mix-ups,
// not forgery. It runs about as fast as memory is read.
#pragma once

#define XXH_INLINE_ALL  // compiled in, so that programs that link tamis do not need the library
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/format.h"

namespace tamis::core {

class Hash {
 public:
  Hash() { XXH64_reset(&state_, 0); }
  void add(std::span<const std::byte> bytes) { XXH64_update(&state_, bytes.data(), bytes.size()); }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// The hash of all bytes so far.
  [[nodiscard]] std::uint64_t value() const { return XXH64_digest(&state_); }
  /// The same as text: 16 hexadecimal digits, the most significant first.
  [[nodiscard]] std::string hex() const { return format("{:016x}", value()); }

 private:
  XXH64_state_t state_;
};

inline std::string hash_version() {
  return format("xxHash {}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

}  // namespace tamis::core
