// Certificates: what the result of sparse attention proves about its distance from exact attention.
#pragma once

#include <cstdint>

namespace tamis {

/// How sure the bounds are.
enum class Grade : std::uint8_t {
  proved = 0,  ///< they hold: deterministic, rounding included, derived in docs/certificates.md
};

/// For one query of one head. What was read is counted once per KV head and step: the queries that share
/// a KV head share the reading, and each of their certificates holds the same counts.
struct Certificate {
  double tau = 0;        ///< total-variation distance between exact attention and the weights used, at most
  double error = 0;      ///< ‖out − exact‖₂, at most
  double lse_error = 0;  ///< |lse − exact|, at most
  Grade grade = Grade::proved;
  bool dense = false;  ///< every key and value was read, by `dense`: out and lse are its bits

  // Keys by the finest mesh at which they were read; the three add up to the keys seen.
  std::int64_t coarse_keys = 0;  ///< 4 bits per channel
  std::int64_t middle_keys = 0;  ///< 8 bits per channel
  std::int64_t exact_keys = 0;   ///< as stored
  // Values; for the rest of the keys the centroid of their block stands, or nothing (ladder off).
  std::int64_t middle_values = 0;  ///< 4 bits per channel
  std::int64_t exact_values = 0;   ///< as stored
  // Bytes: codes, norms and block parameters included.
  std::int64_t coarse_bytes = 0;
  std::int64_t middle_bytes = 0;
  std::int64_t exact_bytes = 0;

  [[nodiscard]] std::int64_t bytes() const { return coarse_bytes + middle_bytes + exact_bytes; }
};

}  // namespace tamis
