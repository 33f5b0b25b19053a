// What attention over a cache must be: exact attention over the numbers that were appended, the
// claims of a certificate checked against it, and the bytes that reading takes, counted from first
// principles. Knows nothing of any engine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tamis/attend.h>
#include <tamis/heads.h>

#include "support/oracle.h"

namespace tamis::testing {

/// The keys and values of one KV head in the order of their positions, as they were appended.
struct Appended {
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::vector<float> keys;    ///< tokens × key_dim
  std::vector<float> values;  ///< tokens × value_dim

  [[nodiscard]] std::int64_t tokens() const { return std::ssize(keys) / key_dim; }
};

/// Exact attention of some rows over the first seen[r] tokens, in f64; row r of the result is row
/// r.
Oracle exact_attention(const Appended& appended, float scale, View<const float> queries,
                       std::span<const std::int64_t> seen);

/// What a certificate claims about one row that turns out to be false: a sentence, or nothing.
std::string false_claim(const ExactRow& exact, std::span<const float> out, float lse,
                        const tamis::Certificate& certificate);
/// The same for τ, where the caller knows the weights that were used, one per key seen.
std::string false_tau(const ExactRow& exact, std::span<const float> weights, double tau);

/// What was read of one KV head.
struct Reads {
  std::int64_t blocks = 0;               ///< looked at: plane 0 of all keys and what belongs to it
  std::array<std::int64_t, 4> keys{};    ///< coded keys by the deepest level read
  std::array<std::int64_t, 4> values{};  ///< coded values by the deepest level read
  std::int64_t raw_keys = 0;
  std::int64_t raw_values = 0;
};
/// Bytes of these: 80 bytes of header, two f16 per channel for keys and for values, half a byte per
/// channel (in multiples of 32) and plane, `element` bytes per raw number.
std::int64_t bytes_of(const Reads& reads, const Heads& heads, std::int64_t element);
/// Bytes of all that `levels` planes of a block hold of one KV head.
std::int64_t bytes_of_block(int levels, const Heads& heads);

}  // namespace tamis::testing
