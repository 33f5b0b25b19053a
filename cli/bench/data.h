// The input of a benchmark: keys, values and queries, either synthetic or taken from a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/heads.h>

namespace tamis::cli {

/// The shape that the user asked for: `batch` sequences of `tokens` tokens each, and `steps` steps
/// with one query per sequence.
struct BenchShape {
  Heads heads;
  std::int64_t tokens = 0;
  std::int64_t batch = 1;
  std::int64_t steps = 1;
  std::uint64_t seed = 1;
};

struct BenchData {
  std::vector<bf16> k;   ///< [batch, kv_heads, tokens, dim]
  std::vector<bf16> v;   ///< [batch, kv_heads, tokens, dim]
  std::vector<float> q;  ///< [steps, batch, query_heads, dim]
  float scale = 1;
};

/// Makes keys that lie near eight directions in the space of channels, around a mean that differs
/// by channel. The coordinates along four directions change slowly from token to token, those
/// along the other four fast. Queries lie along the same directions. Each query is multiplied by a
/// factor, found for the first step, such that the number of keys that hold 95 % of its weight
/// follows the law k(n) = k(8192)·(n/8192)^0.61. The exponent is the median over heads of a small
/// language model; k(8192) is drawn log-uniformly from 20 to 200, the range of most of its heads.
/// Takes about a nanosecond for every number and for every pair of a query head and a key.
BenchData synthetic_data(const BenchShape& shape, int threads);

/// Repeats keys and values of a trace to the length asked for. The first and the last 128 tokens
/// stay where they are; between them lie runs of 128 tokens whose starts are drawn at random. The
/// queries are the last ones of the trace. If dim is twice the trace's head size, two heads are
/// joined channel by channel. Throws Error(usage) if dim is any other than these two sizes or if
/// fewer than 256 tokens are asked for, and Error(input) if the trace is too short or its head
/// sizes differ.
BenchData trace_data(const std::string& path, const BenchShape& shape, int threads);

}  // namespace tamis::cli
