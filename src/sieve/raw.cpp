#include "sieve/raw.h"

#include <algorithm>
#include <cmath>

#include "attention/dense.h"
#include "sieve/dense/stored_pages.h"
#include "sieve/error_model.h"
#include "sieve/testing.h"

namespace tamis::sieve {
namespace {

std::int64_t tokens_seen(const Problem& problem) {
  std::int64_t tokens = 0;
  for (const cache::RawRun& run : problem.sequence.raw) tokens += seen_of(run, problem.seen);
  return tokens;
}

/// The arrays in the scratch memory; sizes are in floats.
struct Room {
  float* query;   ///< rows × key_d32, in the order of columns of the kernels
  float* logits;  ///< rows × stride: logits of all raw tokens, run after run, and later weights
  float* sums;    ///< rows × value_d32, sums of one chunk
  float* output;  ///< value_d32, the output of one row
  std::int64_t stride;
};

std::int64_t stride_for(const Problem& problem, std::int64_t tokens) {
  // Kernels work up to a multiple of 32 or, counted from the start of a chunk, of `pad`.
  return attention::round_up(tokens, 32) + problem.kernels.pad;
}

Room room_in(const Problem& problem, std::int64_t tokens, float* scratch) {
  Room room{};
  room.stride = stride_for(problem, tokens);
  room.query = scratch;
  room.logits = room.query + problem.rows * problem.layout.key_d32;
  room.sums = room.logits + problem.rows * room.stride;
  room.output = room.sums + problem.rows * problem.layout.value_d32;
  return room;
}

/// Up to 128 consecutive tokens of a run.
struct Chunk {
  const std::byte* keys;
  const std::byte* values;
  std::int64_t at;  ///< index of the first one among all raw tokens
  int count;
};

template <class Use>
void for_each_chunk(const Problem& problem, Use use) {
  const std::int64_t key_bytes = problem.heads.key_dim * size_of(problem.dtype);
  const std::int64_t value_bytes = problem.heads.value_dim * size_of(problem.dtype);
  std::int64_t at = 0;
  for (const cache::RawRun& run : problem.sequence.raw) {
    const std::int64_t seen = seen_of(run, problem.seen);
    const std::int64_t row = problem.head * run.head_rows;
    for (std::int64_t first = 0; first < seen; first += page_tokens) {
      const auto count = static_cast<int>(std::min<std::int64_t>(page_tokens, seen - first));
      use(Chunk{run.keys + (row + first) * key_bytes, run.values + (row + first) * value_bytes, at,
                count});
      at += count;
    }
  }
}

/// Copies the queries into the order of columns of the kernels.
void place_queries(const Problem& problem, float* to) {
  const kernels::KvType type = attention::kv_type(problem.dtype);
  const std::int64_t width = problem.layout.key_d32;
  for (std::int64_t r = 0; r < problem.rows; ++r)
    for (std::int64_t c = 0; c < width; ++c)
      to[r * width + kernels::place(problem.kernels, type, c)] = problem.query[r * width + c];
}

/// Calls hide(first, count) for the raw tokens that some row sees, but not the row that sees
/// `seen` tokens.
template <class Hide>
void for_each_hidden(const Problem& problem, std::int64_t seen, Hide hide) {
  if (seen >= problem.seen) return;
  std::int64_t at = 0;
  for (const cache::RawRun& run : problem.sequence.raw) {
    const std::int64_t some = seen_of(run, problem.seen);
    const std::int64_t sees = seen_of(run, seen);
    if (sees < some) hide(at + sees, some - sees);
    at += some;
  }
}

/// Turns a row's logits into weights. Returns false if a logit, or its difference to the largest,
/// is not finite.
bool weigh_row(const Problem& problem, std::int64_t seen, std::int64_t tokens, float* s,
               Partial& partial) {
  std::int64_t hidden = 0;
  for_each_hidden(problem, seen, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(s + first, count, -std::numeric_limits<float>::infinity());
    hidden += count;
  });
  if (hidden == tokens) {
    std::fill_n(s, tokens, 0.0F);
    return true;
  }
  const float top = problem.kernels.maximum(s, static_cast<int>(tokens));
  const float reference = std::isfinite(top) ? std::round(top) : 0.0F;
  for_each_hidden(problem, seen, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(s + first, count, reference);
  });
  if (!std::isfinite(problem.kernels.weigh(s, static_cast<int>(tokens), reference))) return false;
  for_each_hidden(problem, seen, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(s + first, count, 0.0F);
  });
  partial.reference = static_cast<double>(reference);
  partial.used = problem.kernels.sum(s, tokens);
  partial.vanished = static_cast<double>(tokens - hidden) * vanished_weight;
  return true;
}

/// Writes Σ ê·v to `out`, in the order of channels.
void combine_values(const Problem& problem, const Room& room, float* out) {
  const kernels::KvType type = attention::kv_type(problem.dtype);
  const std::int64_t width = problem.layout.value_d32;
  const auto d_v = static_cast<int>(problem.heads.value_dim);
  std::fill_n(out, problem.rows * width, 0.0F);
  std::fill_n(room.sums, problem.rows * width, 0.0F);
  for_each_chunk(problem, [&](const Chunk& chunk) {
    float* sums = chunk.at == 0 ? out : room.sums;
    problem.kernels.combine[type](room.logits + chunk.at, room.stride, problem.rows, chunk.values,
                                  d_v, chunk.count, d_v, sums, width, chunk.values, 0);
    if (chunk.at == 0) return;
    for (int r = 0; r < problem.rows; ++r)
      problem.kernels.scale_add(out + r * width, 1.0F, sums + r * width, static_cast<int>(width));
  });
  if (!problem.kernels.interleaved[type]) return;
  for (int r = 0; r < problem.rows; ++r) {
    std::copy_n(out + r * width, width, room.output);
    for (std::int64_t c = 0; c < width; ++c)
      out[r * width + c] = room.output[kernels::place(problem.kernels, type, c)];
  }
}

bool all_finite(const float* x, std::int64_t n) {
  float zero = 0.0F;  // 0·x is NaN unless x is finite
  for (std::int64_t c = 0; c < n; ++c) zero += 0.0F * x[c];
  return zero == 0.0F;
}

}  // namespace

std::int64_t raw_scratch(const Problem& problem) {
  const cache::Layout& layout = problem.layout;
  return problem.rows *
             (layout.key_d32 + layout.value_d32 + stride_for(problem, tokens_seen(problem))) +
         layout.value_d32;
}

RawResult attend_raw(const Problem& problem, float* scratch, float* out) {
  const kernels::KvType type = attention::kv_type(problem.dtype);
  const std::int64_t d = problem.heads.key_dim;
  const std::int64_t d_v = problem.heads.value_dim;
  const std::int64_t width = problem.layout.value_d32;
  RawResult result;
  result.finite.fill(true);
  result.keys = tokens_seen(problem);
  if (result.keys == 0) {
    std::fill_n(out, problem.rows * width, 0.0F);
    return result;
  }
  const Room room = room_in(problem, result.keys, scratch);
  const float* query = problem.query;
  if (problem.kernels.interleaved[type]) {
    place_queries(problem, room.query);
    query = room.query;
  }

  double key_norm = 0;
  double chunks = 0;
  for_each_chunk(problem, [&](const Chunk& chunk) {
    // The kernel prefetches the values of the chunk while it uses the keys.
    problem.kernels.logits[type](query, problem.layout.key_d32, problem.rows, chunk.keys, d,
                                 chunk.count, static_cast<int>(d), room.logits + chunk.at,
                                 room.stride, chunk.values,
                                 chunk.count * d_v * size_of(problem.dtype));
    key_norm = std::max(key_norm, largest_norm(problem.kernels, type, chunk.keys, chunk.count, d));
    result.value_norm = std::max(
        result.value_norm, largest_norm(problem.kernels, type, chunk.values, chunk.count, d_v));
    ++chunks;
  });
  result.roundings = static_cast<double>(std::min<std::int64_t>(page_tokens, result.keys)) + chunks;

  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    float* s = room.logits + r * room.stride;
    result.finite[i] = weigh_row(problem, problem.row[i].seen, result.keys, s, result.row[i]);
    if (!result.finite[i]) std::fill_n(s, result.keys, 0.0F);
  }
  if (problem.told[0] != nullptr) tell_raw(problem, room.logits, room.stride);
  combine_values(problem, room, out);

  const double chain = channel_chain(problem.layout.key_d32, problem.kernels.pad / 2);
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    Partial& row = result.row[i];
    if (!all_finite(out + r * width, width)) {
      result.finite[i] = false;
      std::fill_n(out + r * width, width, 0.0F);
      row = {};
    }
    if (row.used == 0) continue;
    row.spread = row.used * relative(exact_octaves(chain, d, problem.query_norm[i], key_norm));
    // A value is at most ‖v‖ + ‖out‖ from the output. ‖out‖ is not known yet; certify() adds it.
    row.product = result.value_norm > 0 ? row.spread * result.value_norm : 0;
  }
  return result;
}

}  // namespace tamis::sieve
