// Budgets: the rule for how much sparse attention may read. Plain values, written as `mass:0.05`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tamis/export.h>

namespace tamis {

/// Whatever the budget, raw tokens (sinks, tokens after the last coded block) are read exactly, a
/// first look reads a plane or two of all keys, and queries that share a KV head use what is read
/// for any of them. Where that alone exceeds a budget of bytes, nothing more is read.
struct Budget {
  enum class Kind : std::uint8_t {
    mass,    ///< mass:EPS, read until the certified tau is at most EPS, or all is read
    bytes,   ///< bytes:SHARE, read at most this share of what dense attention reads
    topk,    ///< topk:K, use the K coded keys whose stored bits give the largest weights, drop the
             ///< rest
    power,   ///< power:ALPHA,C, topk with K = ⌈ALPHA·n^C⌉ for a query that sees n keys
    window,  ///< window:W,SINKS, read the last W and the first SINKS keys, drop the rest: the
             ///< baseline
  };

  Kind kind = Kind::mass;
  double eps = 0.05;        ///< mass: 0 < eps < 1
  double share = 0.25;      ///< bytes: 0 < share ≤ 1
  std::int64_t k = 1;       ///< topk: ≥ 1; at least as many as there are keys means dense
  double alpha = 1;         ///< power: > 0
  double exponent = 0.5;    ///< power: C, 0 … 1
  std::int64_t window = 1;  ///< window: ≥ 1
  std::int64_t sinks = 0;   ///< window: ≥ 0

  bool operator==(const Budget&) const = default;
};

/// Reads "mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5" or "window:256,4". Throws `usage`,
/// saying which forms there are or which number is out of range.
TAMIS_API Budget parse_budget(std::string_view text);
/// The text that parse_budget reads back to the same value.
TAMIS_API std::string to_string(const Budget& budget);
/// Throws `usage` unless every number of the budget's kind is in range.
TAMIS_API void check_budget(const Budget& budget);

}  // namespace tamis
