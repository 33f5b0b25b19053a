// Kernels that code and decode the numbers of a block in planes. src/cache/block.h describes
// planes, docs/certificates.md what their codes prove.
#pragma once

#include <cstdint>

#include <tamis/page.h>

namespace tamis::kernels {

// Layout. A block has 128 tokens; a plane has a nibble (4 bits) for each channel of each token.
// Planes of keys hold the nibbles of 32 channels in 16 bytes. Byte 4g + s has channel
// 32t + 4g + p(s) in its low nibble and channel 32t + 16 + 4g + p(s) in its high nibble. Here
// p is 0, 2, 1, 3, since widening to 16 bits makes bytes 0 and 2 of a group of four neighbours.
//   A low plane stores key after key, so that a single key is contiguous.
//   A high plane stores tiles of 16 keys. A tile has the first group of all its keys, then the
//   second, and so on, so that keys run along vector lanes.
// Planes of values are laid out like a low plane, with p(s) = s.
inline constexpr int tile_keys = 16;
inline constexpr int most_planes = 4;
inline constexpr int most_channels = 1024;

/// Some of the 128 rows of a block in their storage type, `stride` elements apart.
struct TokenRows {
  const void* at;
  std::int64_t stride;
  const std::uint8_t* token;  ///< the numbers of the rows, ascending
  int count;
};

/// What coding needs for each of d32 channels, all floats; 0 from channel d on. The finest step is
/// t/16^(L−1), where t is the step of the channel and L the number of levels.
struct ChannelCodes {
  float* centre;   ///< m
  float* inverse;  ///< 16^(L−1)/t
  float* offset;   ///< 16^L + (16^L − 1)/2; p + offset rounds to 16^L + the code (see code_keys)
  float* finest;   ///< t/16^(L−1), in units of the block
};

/// Sums over channels, in the square of the block's unit.
struct ChannelSums {
  float centres;  ///< Σ m²
  float steps;    ///< Σ t²
};

/// Rows of planes, highest plane first. A plane has d32/2 bytes for each token of the block.
struct PlaneRows {
  std::uint8_t* plane[most_planes];
};
struct CodedRows {
  const std::uint8_t* plane[most_planes];
};

/// 128 rows that are read next and are prefetched one by one. Strides are in bytes.
struct RowsAhead {
  const void* at;
  std::int64_t stride;
  std::int64_t bytes;  ///< of a row; 0 prefetches nothing
};

struct PlaneKernels {
  // ---- Coding ----
  // Every number results from single IEEE operations in the order given, so that all targets make
  // the same bytes. A sum over channels runs in 16 lanes: channel c is added to lane c mod 16, c
  // ascending from +0; then lanes i and i + 8 are added, then neighbours, until one is left:
  // ((0+1)+(2+3)) + ((4+5)+(6+7)). Kernels that exist three times read rows in their storage type.
  // Where d is not a multiple of 32 they must be given rows of floats with zeros from d to d32.

  /// max |x| over n floats, n a multiple of 32; NaN if one is NaN or infinite.
  float (*largest)(const float* x, std::int64_t n);
  /// For each channel the smallest and the largest number over the tokens; 0 without tokens.
  void (*key_ranges[3])(const TokenRows& rows, std::int64_t d32, float* low, float* high);
  /// The same, and the sum, to which one token after another is added from +0.
  void (*value_ranges[3])(const TokenRows& rows, std::int64_t d32, float* low, float* high,
                          float* sum);
  /// Centres and steps of keys, as f16 times unit, a power of 2. In units:
  ///   m = f16 nearest to (low + high)·½ + 0,
  ///   t = f16 at or above max(max(high − m, m − low)·((1 + 2^-20)/8), 2^-14).
  ChannelSums (*choose_keys)(const float* low, const float* high, float unit, int levels,
                             std::int64_t d, std::int64_t d32, std::uint16_t* centre,
                             std::uint16_t* step, const ChannelCodes& out);
  /// The same for values, with m = f16 nearest to (sum·per_token)/unit + 0.
  ChannelSums (*choose_values)(const float* low, const float* high, const float* sum,
                               float per_token, float unit, int levels, std::int64_t d,
                               std::int64_t d32, std::uint16_t* centre, std::uint16_t* step,
                               const ChannelCodes& out);
  /// Codes keys. With p = (k − m)·inverse and T = p + offset, the code is the integer nearest to T,
  /// minus 16^L. Writes rows of all planes in the order of a low plane. Let e_l be T minus the
  /// midpoint of the numbers that planes 0 … l leave possible. `sums` has levels + 2 rows of 128,
  /// with one number for each token of the list in turn, then zeros: Σ e_l² for each level l, Σ p²,
  /// Σ (p − e_0)². Channels from d on have p = T = 0 and code 0, and are part of the sums.
  void (*code_keys[3])(const TokenRows& rows, std::int64_t d32, int levels,
                       const ChannelCodes& channels, const PlaneRows& planes, float* sums,
                       const RowsAhead& ahead);
  /// The same for values, with rows in the order of planes of values. The sums are Σ (e_l·finest)²
  /// for each level, in the square of the unit, and Σ (v − m)² and Σ v² as they are.
  void (*code_values[3])(const TokenRows& rows, std::int64_t d32, int levels,
                         const ChannelCodes& channels, const PlaneRows& planes, float* sums,
                         const RowsAhead& ahead);
  /// Transposes 128 rows of a plane of keys into tiles of 16 tokens, which gives a high plane.
  void (*turn_plane)(const std::uint8_t* rows, std::int64_t d32, std::uint8_t* tiles);
  /// out(i, c) = m + (t/16^(levels−1))·(code − (16^levels − 1)/2) for `count` rows and c < d, where
  /// the code consists of the first `levels` planes. Two roundings, the same on every target.
  void (*decode_keys)(const CodedRows& rows, int count, int levels, const std::uint16_t* centre,
                      const std::uint16_t* step, float unit, std::int64_t d, std::int64_t d32,
                      float* out, std::int64_t out_stride);
  void (*decode_values)(const CodedRows& rows, int count, int levels, const std::uint16_t* centre,
                        const std::uint16_t* step, float unit, std::int64_t d, std::int64_t d32,
                        float* out, std::int64_t out_stride);
};

}  // namespace tamis::kernels
