// The expected results of attention over a cache: exact attention over the appended numbers,
// checks of a certificate's claims against it, and the bytes that a read takes, counted
// independently. Uses no engine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tamis/attend.h>
#include <tamis/heads.h>

#include "support/oracle.h"

namespace tamis::test {

/// The keys and values of one KV head as they were appended, in the order of their positions.
struct Appended {
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::vector<float> keys;    ///< tokens × key_dim
  std::vector<float> values;  ///< tokens × value_dim

  [[nodiscard]] std::int64_t tokens() const { return std::ssize(keys) / key_dim; }
};

/// Exact attention in f64, where row r sees the first seen[r] tokens. Row r of the result belongs
/// to row r of `queries`.
Oracle exact_attention(const Appended& appended, float scale, View<const float> queries,
                       std::span<const std::int64_t> seen);

/// A sentence about the first claim of a certificate that is false for one row, or "" if all hold.
std::string false_claim(const ExactRow& exact, std::span<const float> out, float lse,
                        const tamis::Certificate& certificate);
/// The same for τ, for callers that know the weights that were used, one per key seen.
std::string false_tau(const ExactRow& exact, std::span<const float> weights, double tau);

/// How many tokens of one KV head were read, and to which level.
struct Reads {
  std::int64_t blocks = 0;  ///< blocks of which plane 0 of all keys and the header are read
  std::array<std::int64_t, 4> keys{};    ///< coded keys by the deepest level read
  std::array<std::int64_t, 4> values{};  ///< coded values by the deepest level read
  std::int64_t raw_keys = 0;
  std::int64_t raw_values = 0;
};
/// Bytes that these reads take: per block 80 bytes of header and two f16 per channel for keys and
/// for values, per plane half a byte per channel (rounded up to 32 channels), and `element` bytes
/// per raw number.
std::int64_t bytes_of(const Reads& reads, const Heads& heads, std::int64_t element);
/// Bytes of one KV head in the first `levels` planes of a block, header included.
std::int64_t bytes_of_block(int levels, const Heads& heads);

}  // namespace tamis::test
