// Kernels of the sieve: building the index of a block, bounding logits from its codes, and summing
// what the codes stand for. The bounds they serve are derived in docs/certificates.md.
#pragma once

#include <cstdint>

namespace tamis {

// Codes. A block has 128 keys; channel c of key j has an 8-bit code, whose high nibble is the coarse code.
// Two planes hold the nibbles of 32 channels in 16 bytes: byte 4g + s has channel 32t + 4g + p(s) in its
// low and channel 32t + 16 + 4g + p(s) in its high nibble, p being 0, 2, 1, 3: bytes 0 and 2 of a group of
// four are neighbours once they are widened to 16 bits.
//   low plane    key after key: a single key is one stretch.
//   high plane   tiles of 16 keys; a tile has the first group of all its keys, then the second, and so on:
//                keys run along vector lanes.
// The 4-bit codes of values are laid out like a low plane, with p(s) = s.
inline constexpr int tile_keys = 16;
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

/// What `bounds` needs of a row: the bound of key j is 2^(slope·e_j + step·dot + shift).
struct ScanRow {
  float slope;
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

/// What a block stores of its values besides the codes, and where that of picked keys goes, as floats.
struct ValueScales {
  const std::uint16_t* low;   ///< bf16
  const std::uint16_t* step;  ///< bf16
  const std::uint8_t* norm;
  float unit;  ///< of norms
  float* picked_low;
  float* picked_step;
  float* picked_norm;
};

/// Where `pick` puts the keys of a block that it picks, one after the other. It may write a vector beyond
/// the last, which picked_stride has room for.
inline constexpr int picked_stride = 128 + 16;
struct Picked {
  std::uint8_t* key;
  std::uint8_t* coarse;  ///< residual codes
  std::uint8_t* middle;
  float* weight;
  std::int64_t stride = picked_stride;  ///< of the rows of weights
  const ValueScales* scales = nullptr;
};

/// Sums of weights w and uncertainties delta over the listed keys of a block.
struct PartSums {
  float used;             ///< Σ w
  float spread;           ///< Σ delta
  float centroid_used;    ///< Σ w of keys whose value was not read
  float centroid_spread;  ///< Σ delta of the same
  float exact_used;       ///< Σ w of keys whose value was read exactly
};

/// Sums over the values of a block that are read as codes.
struct CodedSums {
  float low;  ///< Σ w·low
  float product;  ///< Σ (w + 2·delta)·residual, with an error of at most 136·2⁻²⁴ of it, and 2⁻¹⁴⁰
};

/// 128 rows that are read next, prefetched one by one. Addresses and strides in bytes.
struct RowsAhead {
  const void* at;
  std::int64_t stride;
  std::int64_t bytes;  ///< of a row; 0 for nothing to fetch
};

struct SieveKernels {
  // ---- Building: 128 keys or values at a time ----
  // Kernels of three read K or V as stored, rows `stride` elements apart. Where d is not a multiple of 32
  // they must be given padded rows: floats with zeros from d to d32.

  /// max |x| over n floats, n a multiple of 32; NaN if one is NaN or infinite.
  float (*largest)(const float* x, std::int64_t n);
  /// For each channel c < d32 the smallest and largest of k(j, c) over j; squares[j] = Σ_c k(j, c)².
  void (*summarise_keys[3])(const void* k, std::int64_t stride, std::int64_t d32, float* low, float* high,
                            float* squares);
  /// centroid[c] = Σ_j weight[j]·v(j, c), c < d32; squares[j] = Σ_c v(j, c)².
  void (*summarise_values[3])(const void* v, std::int64_t stride, std::int64_t d32, const float* weight,
                              float* centroid, float* squares);
  /// Centre and step of every channel, in f16 times `unit`, such that centre ± 8·step covers low … high;
  /// centre as floats, inverse = 16/step. Returns Σ (centre/unit)².
  float (*choose_steps)(const float* low, const float* high, float unit, std::int64_t d, std::int64_t d32,
                        std::uint16_t* centre16, std::uint16_t* step16, float* centre, float* inverse);
  /// Codes of keys against centre and inverse, both d32 floats, 0 from d on. coarse[j] and middle[j]
  /// receive Σ r² over d32 channels, r = 16·(k − k̂)/step, for the 4-bit and the 8-bit code: channels from
  /// d on add 64 and ¼ each, exactly. `codes` is scratch of 8·d32 bytes.
  void (*encode_keys[3])(const void* k, std::int64_t stride, std::int64_t d32, const float* centre,
                         const float* inverse, std::uint8_t* codes, std::uint8_t* high, std::uint8_t* low,
                         float* coarse, float* middle, const RowsAhead& ahead);
  /// low[j], high[j] and squares[j]: the range of v_j − centroid, and its sum of squares.
  void (*value_ranges[3])(const void* v, std::int64_t stride, std::int64_t d, const float* centroid,
                          float* low, float* high, float* squares);
  /// For each range a bf16 at or below its low, and a step such that low + 15·step covers it, as stored and
  /// as floats; inverse = 1/step; error = slack·(the largest |v − centroid| + 64·step).
  void (*choose_value_steps)(const float* low, const float* high, float slack, std::uint16_t* low16,
                             std::uint16_t* step16, float* lowest, float* step, float* inverse,
                             float* error);
  /// Codes of v − centroid against lowest and step; squares[j] = Σ (v − centroid − lowest − step·code)².
  void (*encode_values[3])(const void* v, std::int64_t stride, std::int64_t d, std::int64_t d32,
                           const float* centroid, const float* lowest, const float* step,
                           const float* inverse, std::uint8_t* codes, std::int64_t codes_stride,
                           float* squares, const RowsAhead& ahead);
  /// x[j] ← √(x[j] + added)·factor + error[j] + shift, relative error 4·2^-24; error may be null.
  void (*roots_above)(float* x, float added, float factor, const float* error, float shift);
  /// codes[j]: an integer at or above x[j]·factor, at most 255, and less than x[j]·factor + 1.001.
  void (*codes_above)(const float* x, float factor, std::uint8_t* codes);

  // ---- Attending ----

  /// Folds `rows` queries (stride q_stride, padded to d32 with zeros) with a block's centre and step, both
  /// unit·f16. xi has `rows` rows of d32 integers of at most largest_folded. `x` is scratch of
  /// fold_scratch·d32 floats.
  void (*fold)(const float* q, std::int64_t q_stride, int rows, const std::uint16_t* centre,
               const std::uint16_t* step, float unit, std::int64_t d32, float* x, std::int16_t* xi,
               Folded* folded);
  /// dot(r, j) = Σ_c xi(r, c)·code(j, c) of the 128 keys of a high plane, as floats: sums of
  /// channels_summed channels are exact, then rounded, then added. dot has rows of 128. The next plane to
  /// be read is fetched meanwhile.
  void (*coarse_dots)(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi, int rows,
                      float* dot, const std::uint8_t* next_high);
  /// The same with 8-bit codes, from both planes; a key's low plane is d32/2 bytes after the one before.
  void (*middle_dots)(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                      const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                      const std::uint8_t* next_low);
  /// Turns the dots of 128 keys into weight(r, j) = 2^(bound of key j for row r), capped at 2^126, with
  /// their residual codes e, if any; sums[r] is Σ_j weight(r, j), most[r] the largest.
  void (*bounds)(const std::uint8_t* e, int rows, const ScanRow* scan_rows, float* weight, float* sums,
                 float* most);
  /// Picks the keys j of a block with weight(r, j) > t[r] for some row r; returns how many. rest[r] = Σ_j
  /// weight(r, j) over the others. Weights that follow the picked ones up to a multiple of 16 are 0. With
  /// `coarse` null residual codes are not picked.
  int (*pick)(const float* weight, int rows, const float* t, const std::uint8_t* coarse,
              const std::uint8_t* middle, const Picked& picked, float* rest);
  /// dot(r, i) = Σ_c xi(r, c)·code(listed.key[i], c) for the listed keys of a low plane; rows of 128.
  void (*dot_listed)(const Listed& listed, std::int64_t stride, std::int64_t d32, const std::int16_t* xi,
                     int rows, std::int32_t* dot);
  // In the six kernels below w has n ≤ 128 weights, followed by zeros up to a whole vector; masks have 4
  // words of 32 bits. mark_above takes any n, and as many words as that needs.

  /// With a = coarse·w and b = middle·w: Σ (a ≤ t ? a : b ≤ ratio·t ? b : 0), added to sum[i] for each of
  /// the four thresholds t[i]. Monotone in t, bit for bit.
  void (*tail_sums)(const float* w, int n, float coarse, float middle, float ratio, const float* t,
                    float* sum);
  /// Σ (w ≤ t ? w : 0), likewise.
  void (*sums_below)(const float* w, int n, const float* t, float* sum);
  /// Sets the bits of `mask` where w > t.
  void (*mark_above)(const float* w, int n, float t, std::uint32_t* mask);
  /// Σ w over the bits of `mask` that are clear, or set.
  float (*sum_unmarked)(const float* w, int n, const std::uint32_t* mask);
  float (*sum_marked)(const float* w, int n, const std::uint32_t* mask);
  /// Sums over what a block's keys are used with: see PartSums. `valued` includes `whole`.
  PartSums (*part_sums)(const float* w, const float* delta, int n, const std::uint32_t* valued,
                        const std::uint32_t* whole);
  /// The marked ones of n listed keys, their weights and uncertainties (rows `stride` apart) one after the
  /// other, in rows of picked_stride; returns how many. Followed by zeros up to a multiple of 16.
  int (*pick_marked)(const std::uint8_t* key, int n, const std::uint32_t* mask, int rows, const float* w,
                     const float* delta, std::int64_t stride, std::uint8_t* picked_key, float* picked_w,
                     float* picked_delta);
  /// p[i] = w[i]·size[i] for n values read as codes, and what a block adds up for them: see CodedSums. All
  /// arrays go on to a whole vector, with zeros.
  CodedSums (*weigh_codes)(const float* w, const float* delta, const float* size, const float* low,
                           const float* residual, int n, float* p);
  /// o(r, c) += Σ_i p(r, i)·code(listed.key[i], c), c < d32.
  void (*combine_codes)(const float* p, std::int64_t p_stride, int rows, const Listed& listed,
                        std::int64_t stride, std::int64_t d32, float* o, std::int64_t o_stride);
  /// w[i] = bound[i]·2^(slope·e4[i] + step·dot[i] + shift); with y = slope8·e8[i] + shift8 ≤ 1 delta[i] =
  /// w[i]·(y + 0.72·y²), which is above w[i]·(e^y − 1). Returns Σ w. Goes on to a multiple of 16, where
  /// bound must be 0 and w and delta become so.
  float (*refine)(const float* bound, float* w, float* delta, const std::int32_t* dot,
                  const std::uint8_t* e4, const std::uint8_t* e8, int count, float slope, float step,
                  float shift, float slope8, float shift8);
  /// squares[r] = Σ_c (x[c] − o(r, c))² for d32 bf16 numbers x and `rows` rows of d32 floats.
  void (*distances)(const std::uint16_t* x, std::int64_t d32, const float* o, int rows, float* squares);
  /// The largest Σ_c x(j, c)² of `count` rows of d floats, of a row stride.
  float (*largest_norm2)(const float* x, std::int64_t stride, int count, std::int64_t d);

  /// Nanoseconds that `middle_dots` and its fold take per key, row and channel, measured on one Zen 4 core
  /// (not for scalar code, where dense attention is slow in proportion): for forecasts alone.
  float scan_cost;
};

}  // namespace tamis
