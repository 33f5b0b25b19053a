// Kernels of attention over blocks in planes. They compute weights of keys from their codes, choose
// the keys and values to read further, and sum the values. docs/certificates.md derives what the
// results prove.
#pragma once

#include <cstdint>

#include "kernels/planes.h"

namespace tamis::kernels {

/// Σ code·x over this many channels fits 32 bits, for 8-bit codes and |x| ≤ largest_folded.
inline constexpr std::int64_t channels_summed = 256;
/// 127·256 + 127, up to which every integer can be written as two signed bytes.
inline constexpr int largest_folded = 32639;

/// A query folded with one block: x = q·step, rounded to 16-bit integers xi.
struct Folded {
  float base;        ///< q · centre
  float step;        ///< of the integers, x ≈ step·xi
  float norm2;       ///< ‖x‖² as computed, not an upper bound
  std::int32_t sum;  ///< Σ xi
};

/// What `weigh` needs for a row. The weight of key j is 2^(step·dot + shift).
struct ScanRow {
  float step;
  float shift;
};

/// Rows of d32 floats in the scratch memory of `fold`.
inline constexpr std::int64_t fold_scratch = 6;

/// Some keys of a block whose codes lie `stride` bytes apart.
struct Listed {
  const std::uint8_t* codes;
  const std::uint8_t* key;
  int count;
};

/// Size of a list of keys of a block, and of a row of their weights. Kernels that pick keys may
/// write a vector beyond the last one.
inline constexpr int picked_stride = page_tokens + 16;

/// Rows of planes of values with their weights. Each plane has its own list.
struct ListedNibbles {
  int planes;
  const std::uint8_t* plane[most_planes];
  const std::uint8_t* token[most_planes];
  const float* weight[most_planes];  ///< rows of weight_stride
  int count[most_planes];
  std::int64_t weight_stride;
};

struct SieveKernels {
  // ---- Looking ----
  // Centres and steps have d32 channels, a multiple of 32, and are f16 times unit.

  /// Folds `rows` queries (q_stride apart, padded to d32 with zeros) with a block's centre and
  /// step. xi gets `rows` rows of d32 integers of at most largest_folded. `x` is scratch memory of
  /// fold_scratch·d32 floats.
  void (*fold)(const float* q, std::int64_t q_stride, int rows, const std::uint16_t* centre,
               const std::uint16_t* step, float unit, std::int64_t d32, float* x, std::int16_t* xi,
               Folded* folded);
  /// dot(r, j) = Σ_c xi(r, c)·code(j, c) for the 128 keys of a high plane, as floats. Sums of
  /// channels_summed channels are exact; each is rounded, then added. dot has rows of 128.
  /// Prefetches next_high, the plane that is read next.
  void (*dots_of_plane)(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi,
                        int rows, float* dot, const std::uint8_t* next_high);
  /// The same with 8-bit codes, from a high and a low plane; a key's row of the low plane begins
  /// d32/2 bytes after that of the key before.
  void (*dots_of_planes)(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                         const std::int16_t* xi, int rows, float* dot,
                         const std::uint8_t* next_high, const std::uint8_t* next_low);
  /// Turns the dots of 128 keys into weight(r, j) = 2^(step·dot + shift), with the exponent clamped
  /// to ±126. sums[r] is Σ_j weight(r, j), most[r] the largest.
  void (*weigh)(int rows, const ScanRow* scan_rows, float* weight, float* sums, float* most);

  // ---- Choosing ----
  // Rows of picked keys and weights are picked_stride apart. Masks have 4 words of 32 bits. In the
  // next five kernels w has n ≤ 128 weights, followed by zeros up to a whole vector; mark_above
  // takes any n, and a mask of as many words as that needs.

  /// With a = left[0]·w, b = left[1]·w, c = left[2]·w: adds Σ (a ≤ t ? a : b ≤ t ? b : c) to sum[i]
  /// for each of the four thresholds t = t[i].
  void (*tail_sums)(const float* w, int n, const float* left, const float* t, float* sum);
  /// The same for Σ (w ≤ t ? w : 0), which is monotone in t, bit for bit.
  void (*sums_below)(const float* w, int n, const float* t, float* sum);
  /// Sets the bits of `mask` where w > t; the others stay.
  void (*mark_above)(const float* w, int n, float t, std::uint32_t* mask);
  /// Σ w over the clear bits of `mask`.
  float (*sum_unmarked)(const float* w, int n, const std::uint32_t* mask);
  /// Copies the marked ones of n listed keys and their weights without gaps, and returns their
  /// number. The weights are followed by zeros up to a multiple of 16.
  int (*pick_marked)(const std::uint8_t* key, int n, const std::uint32_t* mask, int rows,
                     const float* w, std::uint8_t* picked_key, float* picked_w);
  /// Picks the keys j of a block with weight(r, j) > t[r] for some row r; `weight` has rows of 128.
  /// Returns the number of keys. rest[r] = Σ_j weight(r, j) over the other keys. Picked weights are
  /// followed by zeros up to a multiple of 16.
  int (*pick)(const float* weight, int rows, const float* t, std::uint8_t* picked_key,
              float* picked_w, float* rest);

  // ---- Reading ----

  /// dot(r, i) = Σ_c xi(r, c)·code(listed.key[i], c) for the listed keys of a low plane; dot has
  /// rows of 128.
  void (*dot_listed)(const Listed& listed, std::int64_t stride, std::int64_t d32,
                     const std::int16_t* xi, int rows, std::int32_t* dot);
  /// after[i] = before[i]·2^(step·dot[i] + shift), with the exponent capped at 126. Continues to a
  /// multiple of 16 floats, whose contents do not matter. `after` may be `before`.
  void (*sharpen)(const float* before, const std::int32_t* dot, int count, float step, float shift,
                  float* after);
  /// squares[r] = Σ_c (centre[c] − o(r, c))² for `rows` rows of d32 floats.
  void (*distances)(const std::uint16_t* centre, float unit, std::int64_t d32, const float* o,
                    int rows, float* squares);
  /// out(r, c) += step[c]·(Σ weight·nibble − half[r]) + centre[c]·used[r], where the sum runs over
  /// all listed nibbles.
  void (*add_values)(const ListedNibbles& listed, std::int64_t row_bytes,
                     const std::uint16_t* centre, const std::uint16_t* step, float unit,
                     std::int64_t d32, int rows, const float* half, const float* used, float* out,
                     std::int64_t out_stride);
};

}  // namespace tamis::kernels
