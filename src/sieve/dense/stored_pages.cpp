#include "sieve/dense/stored_pages.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention/dense.h"
#include "attention/rounding.h"
#include "cache/encode.h"
#include "sieve/error_model.h"

namespace tamis::sieve {
namespace {

constexpr std::int64_t raw = -1;  // in place of a block number

std::int64_t position(const cache::RawRun& run, std::int64_t i) {
  return run.first + (run.place == nullptr ? i : run.place[i]);
}

/// Returns row i of one KV head of a run; a row has `dim` numbers of `size` bytes.
const std::byte* row_of(const cache::RawRun& run, const std::byte* rows, std::int64_t head,
                        std::int64_t i, std::int64_t dim, std::int64_t size) {
  return rows + (head * run.head_rows + i) * dim * size;
}

}  // namespace

std::int64_t seen_of(const cache::RawRun& run, std::int64_t seen) {
  const std::int64_t before = std::max<std::int64_t>(seen - run.first, 0);
  if (run.place == nullptr) return std::min<std::int64_t>(before, run.count);
  const std::uint8_t* end = run.place + run.count;
  return std::lower_bound(run.place, end, before,
                          [](std::uint8_t place, std::int64_t bound) { return place < bound; }) -
         run.place;
}

double largest_norm(const kernels::Kernels& kernels, kernels::KvType type, const void* rows,
                    std::int64_t count, std::int64_t dim) {
  if (count == 0) return 0;
  const float squares =
      kernels.largest_norm2[type](rows, dim, static_cast<int>(count), static_cast<int>(dim));
  if (std::isfinite(squares)) return norm_above(squares, dim);
  double most = 0;  // squares of floats never leave the range of f64
  for (std::int64_t j = 0; j < count; ++j) {
    double sum = 0;
    for (std::int64_t c = 0; c < dim; ++c) {
      float x;
      kernels.widen[type](
          static_cast<const std::byte*>(rows) + (j * dim + c) * (type == kernels::kv_f32 ? 4 : 2),
          &x, 1);
      sum += static_cast<double>(x) * static_cast<double>(x);
    }
    most = std::max(most, attention::root_above(sum));
  }
  return most;
}

const cache::RawRun* StoredPages::whole_run(std::int64_t first, std::int64_t end) const {
  const auto& runs = stored_.sequence.raw;
  if (stored_.coded() || run_ == runs.size()) return nullptr;
  const cache::RawRun& run = runs[run_];
  const bool whole = run.place == nullptr && run.first <= first && run.first + run.count >= end;
  return whole ? &run : nullptr;
}

StoredPage StoredPages::next(std::int64_t first) {
  const cache::Layout& layout = stored_.layout;
  const auto& blocks = stored_.sequence.blocks;
  const auto& runs = stored_.sequence.raw;
  const std::int64_t d = layout.key_dim;
  const std::int64_t d_v = layout.value_dim;
  const std::int64_t end = std::min<std::int64_t>(first + page_tokens, stored_.seen);
  const std::int64_t size = size_of(stored_.raw_dtype);
  const kernels::KvType type = attention::kv_type(stored_.raw_dtype);
  float* keys = room_;
  float* values = room_ + page_tokens * d;
  StoredPage result;
  result.page = {keys, values, d, d_v, end - first};

  while (run_ < runs.size() && position(runs[run_], runs[run_].count - 1) < first) ++run_;
  if (const cache::RawRun* run = whole_run(first, end)) {
    result.page.k = row_of(*run, run->keys, stored_.head, first - run->first, d, size);
    result.page.v = row_of(*run, run->values, stored_.head, first - run->first, d_v, size);
    result.part[0] = {0, end - first, raw};
    result.parts = 1;
    return result;
  }

  std::array<std::int64_t, page_tokens> owner;
  owner.fill(raw);
  while (block_ < blocks.size() && blocks[block_].first + blocks[block_].tokens <= first) ++block_;
  for (std::size_t b = block_; b < blocks.size() && blocks[b].first < end; ++b) {
    const std::int64_t from = std::max(first, blocks[b].first);
    const std::int64_t count = std::min(end, blocks[b].first + blocks[b].tokens) - from;
    cache::decode_head(stored_.kernels, stored_.block(static_cast<std::int64_t>(b)),
                       blocks[b].levels, from - blocks[b].first, count, keys + (from - first) * d,
                       d, values + (from - first) * d_v, d_v);
    std::fill_n(owner.begin() + (from - first), count, static_cast<std::int64_t>(b));
  }
  // Raw tokens overwrite what was decoded in their places.
  const bool floats = stored_.coded();
  const auto put = [&](const std::byte* from, float* rows, std::int64_t at, std::int64_t dim) {
    if (floats) {
      stored_.kernels.widen[type](from, rows + at * dim, dim);
    } else {
      std::memcpy(reinterpret_cast<std::byte*>(rows) + at * dim * size, from,
                  static_cast<std::size_t>(dim * size));
    }
  };
  for (std::size_t u = run_; u < runs.size() && runs[u].first < end; ++u) {
    const std::int64_t some = seen_of(runs[u], end);
    for (std::int64_t i = seen_of(runs[u], first); i < some; ++i) {
      const std::int64_t at = position(runs[u], i) - first;
      put(row_of(runs[u], runs[u].keys, stored_.head, i, d, size), keys, at, d);
      put(row_of(runs[u], runs[u].values, stored_.head, i, d_v, size), values, at, d_v);
      owner[static_cast<std::size_t>(at)] = raw;
    }
  }
  for (std::int64_t j = 0; j < end - first; ++j) {
    const std::int64_t block = owner[static_cast<std::size_t>(j)];
    if (j == 0 || block != result.part[static_cast<std::size_t>(result.parts - 1)].block)
      result.part[static_cast<std::size_t>(result.parts++)] = {j, 0, block};
    ++result.part[static_cast<std::size_t>(result.parts - 1)].count;
  }
  return result;
}

}  // namespace tamis::sieve
