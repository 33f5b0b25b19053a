// What a benchmark attends to: keys, values and queries, made inside the program or taken from a
// trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tamis/dtype.h>
#include <tamis/heads.h>

namespace tamis::cli {

/// The user's shape: `batch` sequences of `tokens` tokens each, and `steps` steps of one query a
/// sequence.
struct BenchShape {
  Heads heads;
  std::int64_t tokens = 0;
  std::int64_t batch = 1;
  std::int64_t steps = 1;
  std::uint64_t seed = 1;
};

struct BenchData {
  std::vector<bf16> k;   ///< [batch, kv_heads, tokens, dim]
  std::vector<bf16> v;   ///< the same
  std::vector<float> q;  ///< [steps, batch, query_heads, dim]
  float scale = 1;
};

/// Keys that lie near eight directions in the space of channels, four of which change slowly along
/// the text and four fast, around a mean that differs by channel; queries along the same
/// directions. Each query is multiplied by a number, found for the first step, such that as many
/// keys hold 95 % of its weight as the law k(n) = k(8192)·(n/8192)^0.61 says: the exponent is the
/// median over heads of a small language model, and k(8192) is drawn from 20 to 200, evenly in its
/// logarithm, as were most heads of it. Costs about a nanosecond for every number and as much for
/// every query head and key.
BenchData synthetic_data(const BenchShape& shape, int threads);

/// Keys and values of a trace, repeated: the first and the last 128 tokens stay where they are,
/// between them lie runs of 128 tokens whose starts are drawn. Queries are the trace's last ones.
/// Where dim is a multiple of the trace's, heads are joined channel by channel. Throws `usage` if
/// it is not, `input` if the trace is too short.
BenchData trace_data(const std::string& path, const BenchShape& shape, int threads);

}  // namespace tamis::cli
