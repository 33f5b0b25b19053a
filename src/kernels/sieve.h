// Kernels that attend over blocks in planes: weights of keys from their codes, which keys and
// values to read on, and sums of what their codes stand for. What all this proves is derived in
// docs/certificates.md.
#pragma once

#include <cstdint>

#include "kernels/planes.h"

namespace tamis::kernels {

/// Σ code·x over so many channels fits 32 bits, for 8-bit codes and |x| ≤ largest_folded.
inline constexpr std::int64_t channels_summed = 256;
/// 127·256 + 127: two signed bytes make every integer up to it.
inline constexpr int largest_folded = 32639;

/// What a query becomes for one block: x = q·step, in 16-bit integers.
struct Folded {
  float base;        ///< q · centre
  float step;        ///< of the integers: x ≈ step·xi
  float norm2;       ///< ‖x‖², rounded as it comes
  std::int32_t sum;  ///< Σ xi
};

/// What `weigh` needs of a row: the weight of key j is 2^(step·dot + shift).
struct ScanRow {
  float step;
  float shift;
};

inline constexpr std::int64_t fold_scratch = 6;

/// Some keys of a block whose codes lie `stride` bytes apart.
struct Listed {
  const std::uint8_t* codes;
  const std::uint8_t* key;
  int count;
};

/// Room for a list of keys of a block, and for a row of their weights: kernels that pick may write
/// a vector beyond the last.
inline constexpr int picked_stride = page_tokens + 16;

/// Rows of planes of values and what each is worth. Plane p has a list of its own.
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
  // Centres and steps have d32 channels, a multiple of 32, and are unit·f16.

  /// Folds `rows` queries (stride q_stride, padded to d32 with zeros) with a block's centre and
  /// step. xi has `rows` rows of d32 integers of at most largest_folded. `x` is scratch of
  /// fold_scratch·d32 floats.
  void (*fold)(const float* q, std::int64_t q_stride, int rows, const std::uint16_t* centre,
               const std::uint16_t* step, float unit, std::int64_t d32, float* x, std::int16_t* xi,
               Folded* folded);
  /// dot(r, j) = Σ_c xi(r, c)·code(j, c) of the 128 keys of a high plane, as floats: sums of
  /// channels_summed channels are exact, then rounded, then added. dot has rows of 128. The next
  /// plane to be read is fetched meanwhile.
  void (*dots_of_plane)(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi,
                        int rows, float* dot, const std::uint8_t* next_high);
  /// The same with 8-bit codes, from a high and a low plane; a key's row of the latter is d32/2
  /// bytes after the one before.
  void (*dots_of_planes)(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                         const std::int16_t* xi, int rows, float* dot,
                         const std::uint8_t* next_high, const std::uint8_t* next_low);
  /// Turns the dots of 128 keys into weight(r, j) = 2^(step·dot + shift), the exponent kept within
  /// ±126; sums[r] is Σ_j weight(r, j), most[r] the largest.
  void (*weigh)(int rows, const ScanRow* scan_rows, float* weight, float* sums, float* most);

  // ---- Choosing ----
  // Rows of picked keys and weights are picked_stride apart. Masks have 4 words of 32 bits. In the
  // five kernels below w has n ≤ 128 weights, followed by zeros up to a whole vector; mark_above
  // takes any n, and as many words as that needs.

  /// With a, b, c = left[0]·w, left[1]·w, left[2]·w: Σ (a ≤ t ? a : b ≤ t ? b : c), added to sum[i]
  /// for each of the four thresholds t[i].
  void (*tail_sums)(const float* w, int n, const float* left, const float* t, float* sum);
  /// Σ (w ≤ t ? w : 0), likewise. Monotone in t, bit for bit.
  void (*sums_below)(const float* w, int n, const float* t, float* sum);
  /// Sets the bits of `mask` where w > t.
  void (*mark_above)(const float* w, int n, float t, std::uint32_t* mask);
  /// Σ w over the bits of `mask` that are clear.
  float (*sum_unmarked)(const float* w, int n, const std::uint32_t* mask);
  /// The marked ones of n listed keys and their weights, one after the other; returns how many.
  /// Followed by zeros up to a multiple of 16.
  int (*pick_marked)(const std::uint8_t* key, int n, const std::uint32_t* mask, int rows,
                     const float* w, std::uint8_t* picked_key, float* picked_w);
  /// Picks the keys j of a block with weight(r, j) > t[r] for some row r, rows of 128; returns how
  /// many. rest[r] = Σ_j weight(r, j) over the others. Picked weights are followed by zeros up to a
  /// multiple of 16.
  int (*pick)(const float* weight, int rows, const float* t, std::uint8_t* picked_key,
              float* picked_w, float* rest);

  // ---- Reading ----

  /// dot(r, i) = Σ_c xi(r, c)·code(listed.key[i], c) for the listed keys of a low plane; rows of
  /// 128.
  void (*dot_listed)(const Listed& listed, std::int64_t stride, std::int64_t d32,
                     const std::int16_t* xi, int rows, std::int32_t* dot);
  /// after[i] = before[i]·2^(step·dot[i] + shift), the exponent capped at 126. Goes on to a
  /// multiple of 16 floats; what stands there does not matter. `after` may be `before`.
  void (*sharpen)(const float* before, const std::int32_t* dot, int count, float step, float shift,
                  float* after);
  /// squares[r] = Σ_c (centre[c] − o(r, c))² for `rows` rows of d32 floats.
  void (*distances)(const std::uint16_t* centre, float unit, std::int64_t d32, const float* o,
                    int rows, float* squares);
  /// out(r, c) += step[c]·(Σ weight·nibble − half[r]) + centre[c]·used[r], the sum over all listed
  /// nibbles.
  void (*add_values)(const ListedNibbles& listed, std::int64_t row_bytes,
                     const std::uint16_t* centre, const std::uint16_t* step, float unit,
                     std::int64_t d32, int rows, const float* half, const float* used, float* out,
                     std::int64_t out_stride);
};

}  // namespace tamis::kernels
