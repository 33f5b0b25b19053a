// Kernels of blocks in planes: coding and decoding their numbers. src/cache/block.h says what
// planes are, docs/certificates.md what their codes prove.
#pragma once

#include <cstdint>

#include <tamis/page.h>

namespace tamis::kernels {

// Bytes. A block has 128 tokens; a plane has a nibble for each channel of each of them.
// Planes of keys hold the nibbles of 32 channels in 16 bytes: byte 4g + s has channel 32t + 4g +
// p(s) in its low and channel 32t + 16 + 4g + p(s) in its high nibble, p being 0, 2, 1, 3: bytes 0
// and 2 of a group of four are neighbours once they are widened to 16 bits.
//   low plane    key after key: a single key is one stretch.
//   high plane   tiles of 16 keys; a tile has the first group of all its keys, then the second, and
//   so on:
//                keys run along vector lanes.
// Planes of values are laid out like a low plane, with p(s) = s.
inline constexpr int tile_keys = 16;
inline constexpr int most_planes = 4;
inline constexpr int most_channels = 1024;

/// Some of the 128 rows of a block, as stored, `stride` elements apart.
struct TokenRows {
  const void* at;
  std::int64_t stride;
  const std::uint8_t* token;  ///< which rows, ascending
  int count;
};

/// What coding needs of each of d32 channels, all floats; 0 from d on. Numbers in finest steps are
/// multiples of t/16^(L−1).
struct ChannelCodes {
  float* centre;   ///< m
  float* inverse;  ///< 16^(L−1)/t
  float* offset;   ///< 16^L + (16^L − 1)/2, which makes them 16^L + a code
  float* finest;   ///< t/16^(L−1) in units
};

/// Sums over channels, in units².
struct ChannelSums {
  float centres;  ///< Σ m²
  float steps;    ///< Σ t²
};

/// Rows of planes, highest plane first, one of d32/2 bytes for each token of the block.
struct PlaneRows {
  std::uint8_t* plane[most_planes];
};
struct CodedRows {
  const std::uint8_t* plane[most_planes];
};

/// 128 rows that are read next, prefetched one by one. Addresses and strides in bytes.
struct RowsAhead {
  const void* at;
  std::int64_t stride;
  std::int64_t bytes;  ///< of a row; 0 for nothing to fetch
};

struct PlaneKernels {
  // ---- Coding ----
  // Every number follows from single IEEE operations in the order given, so that all targets make
  // the same bytes. A sum over channels runs in 16 lanes, channel c in lane c mod 16, c ascending
  // from +0; then lanes i and i + 8 are added, then neighbours, until one is left: ((0+1)+(2+3)) +
  // ((4+5)+(6+7)). Kernels of three read rows as stored; where d is not a multiple of 32 they must
  // be given rows of floats with zeros from d to d32.

  /// max |x| over n floats, n a multiple of 32; NaN if one is NaN or infinite.
  float (*largest)(const float* x, std::int64_t n);
  /// For each channel the smallest and the largest number over the tokens; zeros without tokens.
  void (*key_ranges[3])(const TokenRows& rows, std::int64_t d32, float* low, float* high);
  /// The same, and the sum, one token after another from +0.
  void (*value_ranges[3])(const TokenRows& rows, std::int64_t d32, float* low, float* high,
                          float* sum);
  /// Centres and steps of keys, in f16 times unit, a power of 2. In units:
  ///   m = f16 nearest to (low + high)·½ + 0,
  ///   t = f16 at or above max(max(high − m, m − low)·((1 + 2^-20)/8), 2^-14).
  ChannelSums (*choose_keys)(const float* low, const float* high, float unit, int levels,
                             std::int64_t d, std::int64_t d32, std::uint16_t* centre,
                             std::uint16_t* step, const ChannelCodes& out);
  /// The same of values, m = f16 nearest to (sum·per_token)/unit + 0.
  ChannelSums (*choose_values)(const float* low, const float* high, const float* sum,
                               float per_token, float unit, int levels, std::int64_t d,
                               std::int64_t d32, std::uint16_t* centre, std::uint16_t* step,
                               const ChannelCodes& out);
  /// Codes: with p = (k − m)·inverse and T = p + offset the code is the integer nearest to T, less
  /// 16^L. Writes rows of all planes in the order of a low plane. With e_l = T − the middle of what
  /// planes 0 … l leave open, sums has levels + 2 rows of 128, one number for each token of the
  /// list in turn, then zeros: Σ e_l² for each level l, Σ p², Σ (p − e_0)². Channels from d on have
  /// p = T = 0, code 0, and count.
  void (*code_keys[3])(const TokenRows& rows, std::int64_t d32, int levels,
                       const ChannelCodes& channels, const PlaneRows& planes, float* sums,
                       const RowsAhead& ahead);
  /// The same of values, rows in the order of codes of values; sums: Σ (e_l·finest)² for each
  /// level, in units, Σ (v − m)² and Σ v² as they are.
  void (*code_values[3])(const TokenRows& rows, std::int64_t d32, int levels,
                         const ChannelCodes& channels, const PlaneRows& planes, float* sums,
                         const RowsAhead& ahead);
  /// 128 rows of a plane of keys into tiles of 16 tokens: a high plane.
  void (*turn_plane)(const std::uint8_t* rows, std::int64_t d32, std::uint8_t* tiles);
  /// out(i, c) = m + (t/16^(levels−1))·(code − (16^levels − 1)/2) for `count` rows, c < d, the code
  /// of as many planes as there are levels. Two roundings, the same on every target.
  void (*decode_keys)(const CodedRows& rows, int count, int levels, const std::uint16_t* centre,
                      const std::uint16_t* step, float unit, std::int64_t d, std::int64_t d32,
                      float* out, std::int64_t out_stride);
  void (*decode_values)(const CodedRows& rows, int count, int levels, const std::uint16_t* centre,
                        const std::uint16_t* step, float unit, std::int64_t d, std::int64_t d32,
                        float* out, std::int64_t out_stride);
};

}  // namespace tamis::kernels
