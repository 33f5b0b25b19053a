#include "support/cache/stored_sequence.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cache/encode.h"

namespace tamis::test {

void StoredSequence::Free::operator()(std::byte* memory) const { std::free(memory); }

std::byte* StoredSequence::take(std::size_t bytes) {
  memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
  return memory_.back().get();
}

/// Adds a run of raw tokens for both heads: row from + tokens[i] of the drawn numbers becomes the
/// token at position first + tokens[i].
void StoredSequence::add_run(const Numbers (&numbers)[2], std::int64_t first, std::int64_t from,
                             const std::vector<std::int32_t>& tokens, bool contiguous) {
  const auto count = std::ssize(tokens);
  if (count == 0) return;
  const std::int64_t head_rows = count + 2;
  const auto rows = [&](std::int64_t dim, auto member) {
    std::vector<float> all(static_cast<std::size_t>(kv_heads * head_rows * dim), 3.0F);
    for (std::int64_t h = 0; h < kv_heads; ++h)
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(
            (numbers[h].*member).begin() + (from + tokens[static_cast<std::size_t>(i)]) * dim, dim,
            all.begin() + (h * head_rows + i) * dim);
    const std::vector<std::byte> bytes = bytes_of(dtype, all);
    std::byte* to = take(bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    return to;
  };
  std::uint8_t* place = nullptr;
  if (!contiguous) {
    places_.push_back(std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(count)));
    place = places_.back().get();
    std::ranges::copy(tokens, place);
  }
  for (const std::int32_t t : tokens) raw_positions_.push_back(first + t);
  runs_.push_back({first, static_cast<std::int32_t>(count), static_cast<std::int32_t>(head_rows),
                   place, rows(heads.key_dim, &Numbers::k), rows(heads.value_dim, &Numbers::v)});
}

StoredSequence::StoredSequence(const Heads& of_heads, DType of_dtype, Kind kind, int rows,
                               const std::vector<Piece>& pieces, std::uint64_t seed)
    : heads(of_heads), dtype(of_dtype), layout(kv_heads, of_heads.key_dim, of_heads.value_dim) {
  std::int64_t drawn = 0;
  for (const Piece& piece : pieces) drawn += piece.tokens;
  std::mt19937_64 random(seed);
  Shape shape{rows, 1, 1, heads.key_dim, heads.value_dim, dtype, heads.scale};
  Shape other = shape;
  const Numbers numbers[2] = {draw(kind, other, drawn, random), draw(kind, shape, drawn, random)};
  heads.scale = shape.scale;
  query = numbers[1].q;
  appended = {heads.key_dim, heads.value_dim, {}, {}};

  std::int64_t first = 0;
  std::int64_t from = 0;
  for (const Piece& piece : pieces) {
    const std::int32_t kept = piece.kept > 0 ? piece.kept : piece.tokens;
    for (std::int64_t t = from; t < from + kept; ++t) {
      const auto append = [&](const std::vector<float>& all, std::int64_t dim,
                              std::vector<float>& to) {
        to.insert(to.end(), all.begin() + t * dim, all.begin() + (t + 1) * dim);
      };
      append(numbers[1].k, heads.key_dim, appended.keys);
      append(numbers[1].v, heads.value_dim, appended.values);
    }
    std::vector<std::int32_t> raw;
    if (piece.levels == 0) {
      for (std::int32_t t = 0; t < kept; ++t) raw.push_back(t);
      add_run(numbers, first, from, raw, true);
    } else {
      std::array<std::uint32_t, 4> mask{};
      for (std::int32_t t = 0; t < piece.tokens; ++t) {
        const auto huge = [&](const std::vector<float>& all, std::int64_t dim) {
          return std::any_of(all.begin() + (from + t) * dim, all.begin() + (from + t + 1) * dim,
                             [](float x) { return std::abs(x) > cache::largest_coded; });
        };
        bool keep = std::ranges::find(piece.raw, t) != piece.raw.end();
        for (const Numbers& n : numbers)
          keep = keep || huge(n.k, heads.key_dim) || huge(n.v, heads.value_dim);
        if (!keep) continue;
        mask[static_cast<std::size_t>(t / 32)] |= 1U << (t % 32);
        if (t < kept) raw.push_back(t);
      }
      cache::CodedBlock block{{}, first, kept, piece.used > 0 ? piece.used : piece.levels};
      std::array<std::byte*, cache::most_levels> pages{};
      for (int p = 0; p < piece.levels; ++p) {
        pages[static_cast<std::size_t>(p)] = take(layout.page_bytes(p));
        if (p < block.levels)
          block.page[static_cast<std::size_t>(p)] = pages[static_cast<std::size_t>(p)];
      }
      std::vector<float> scratch(static_cast<std::size_t>(cache::encode_scratch(layout)));
      for (std::int64_t h = 0; h < kv_heads; ++h) {
        const float* k = numbers[h].k.data() + from * heads.key_dim;
        const float* v = numbers[h].v.data() + from * heads.value_dim;
        cache::encode_head(kernels::kernels(), layout, piece.levels,
                           {k, v, heads.key_dim, heads.value_dim, DType::f32, piece.tokens, mask},
                           scratch.data(),
                           cache::head_pages(layout, pages.data(), piece.levels, h));
      }
      blocks_.push_back(block);
      add_run(numbers, first, from, raw, false);
    }
    first += kept;
    from += piece.tokens;
  }
  view = {first, blocks_, runs_};
  keys = bytes_of(dtype, appended.keys);
  values = bytes_of(dtype, appended.values);
}

Reads StoredSequence::reads(std::int64_t seen) const {
  Reads reads;
  reads.raw_keys = reads.raw_values =
      std::ranges::count_if(raw_positions_, [&](std::int64_t t) { return t < seen; });
  for (const cache::CodedBlock& block : blocks_) {
    if (block.first >= seen) continue;
    ++reads.blocks;
    const std::int64_t end = std::min<std::int64_t>(seen, block.first + block.tokens);
    const auto raw = std::ranges::count_if(
        raw_positions_, [&](std::int64_t t) { return t >= block.first && t < end; });
    reads.keys[static_cast<std::size_t>(block.levels - 1)] += end - block.first - raw;
  }
  reads.values = reads.keys;
  return reads;
}

std::int64_t StoredSequence::bytes(std::int64_t seen) const {
  Reads raw = reads(seen);
  std::int64_t bytes =
      (raw.raw_keys * heads.key_dim + raw.raw_values * heads.value_dim) * size_of(dtype);
  for (const cache::CodedBlock& block : blocks_)
    if (block.first < seen) bytes += bytes_of_block(block.levels, heads);
  return bytes;
}

}  // namespace tamis::test
