// A budget is the rule for how much sparse attention may read. Budgets are plain values with a text
// form such as `mass:0.05`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tamis/export.h>

namespace tamis {

/// With every budget, raw tokens (attention sinks and the tokens after the last coded block)
/// are read exactly, a first look reads one or two planes of every key, and queries that share
/// a KV head use what is read for any of them. If that alone exceeds a budget of bytes, nothing
/// more is read.
struct Budget {
  enum class Kind : std::uint8_t {
    /// mass:EPS reads until the certified tau is at most EPS or all stored bits have been read.
    mass,
    /// bytes:SHARE reads at most this share of the bytes that dense attention reads.
    bytes,
    /// topk:K uses the K coded keys with the largest weights according to the stored bits and drops
    /// the others.
    topk,
    /// power:ALPHA,C is topk with K = ⌈ALPHA·n^C⌉ for a query that sees n keys.
    power,
    /// window:W,SINKS uses the last W and the first SINKS keys and drops the others; a baseline to
    /// compare with.
    window,
  };

  Kind kind = Kind::mass;
  double eps = 0.05;        ///< mass: 0 < eps < 1
  double share = 0.25;      ///< bytes: 0 < share ≤ 1
  std::int64_t k = 1;       ///< topk: ≥ 1; with at least as many as there are keys, all are used
  double alpha = 1;         ///< power: > 0
  double exponent = 0.5;    ///< power: C, 0 … 1
  std::int64_t window = 1;  ///< window: ≥ 1
  std::int64_t sinks = 0;   ///< window: ≥ 0

  bool operator==(const Budget&) const = default;
};

/// Parses "mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5" or "window:256,4". For other text it
/// throws `usage` with a message that lists the forms or names the number that is out of range.
TAMIS_API Budget parse_budget(std::string_view text);
/// Returns the text form, which parse_budget turns back into the same value.
TAMIS_API std::string to_string(const Budget& budget);
/// Throws `usage` unless every number of the budget's kind is in range.
TAMIS_API void check_budget(const Budget& budget);

}  // namespace tamis
