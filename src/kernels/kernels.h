// The table of kernels that each target fills in, and the choice between targets. Loops over pages,
// heads and threads are in src/attention and above; a kernel works on one page.
#pragma once

#include <cstdint>

#include "core/inside.h"
#include "kernels/planes.h"
#include "kernels/sieve.h"

namespace tamis::kernels {

/// Kernels that read keys or values exist once per storage type, in this order.
enum KvType : int { kv_f32 = 0, kv_f16 = 1, kv_bf16 = 2 };

/// The width of the vectors in a table's kernels. The lab chooses its own tables by it.
enum class Vectors : std::uint8_t { scalar, avx2, avx512 };

/// Row r of a matrix argument starts `stride` elements after row r − 1. "Padded" rows may be read
/// and written up to the next multiple of `pad` floats; K and V are never read beyond their rows.
struct Kernels {
  const char* name;
  Vectors vectors;
  int pad;   ///< floats in two vectors
  int tile;  ///< queries that a tile kernel works on at once

  // ---- Few queries: vectors run along the head dimension ----
  // `place` below gives the position of each column in q and o.

  /// Whether each group of `pad` columns holds the even columns first, then the odd ones. Two bf16
  /// in a 32-bit word are then widened by a shift and a mask, without moving them between lanes.
  bool interleaved[3];

  /// s(r, j) = q_r · k_j for r < rows, j < keys ≤ 128. q is padded with zeros, s is padded. Also
  /// prefetches `ahead_bytes` bytes from `ahead`, the page that is read next. `ahead` must be a
  /// valid address even if ahead_bytes is 0.
  void (*logits[3])(const float* q, std::int64_t q_stride, int rows, const void* k,
                    std::int64_t k_stride, int keys, int d, float* s, std::int64_t s_stride,
                    const void* ahead, std::int64_t ahead_bytes);
  /// The largest Σ_c x_j[c]² of rows j < count, c < d, in f32; infinite if one overflows. Requires
  /// count ≥ 1.
  float (*largest_norm2[3])(const void* x, std::int64_t stride, int count, int d);
  /// The largest of s[0 … n − 1], n ≥ 1.
  float (*maximum)(const float* s, int n);
  /// Σ w of n weights, in f64.
  double (*sum)(const float* w, std::int64_t n);
  /// s ← 2^(s − shift) in place. Returns the sum of the results, which is NaN if some s is not
  /// finite. s is padded.
  float (*weigh)(float* s, int n, float shift);
  /// o(r, c) = Σ_{j < keys} p(r, j)·v_j[c] for r < rows, c < d. o is padded. Prefetches `ahead` as
  /// `logits` does.
  void (*combine[3])(const float* p, std::int64_t p_stride, int rows, const void* v,
                     std::int64_t v_stride, int keys, int d, float* o, std::int64_t o_stride,
                     const void* ahead, std::int64_t ahead_bytes);
  /// a ← a·factor + b, n elements, padded.
  void (*scale_add)(float* a, float factor, const float* b, int n);

  // ---- Many queries: vectors run along `tile` queries, K and V are broadcast ----
  // A tile matrix has one row of `tile` floats per dimension or key.

  /// dst[0 … n − 1] = src[0 … n − 1] as floats.
  void (*widen[3])(const void* src, float* dst, std::int64_t n);
  /// s[j] = Σ_c k_j[c]·q[c], j < keys.
  void (*tile_logits)(const float* q, const float* k, std::int64_t k_stride, int keys, int d,
                      float* s);
  /// One page of an online softmax, where lane i sees the first seen[i] keys of the page (0 …
  /// keys). Raises m, writes the factor by which earlier sums shrink, turns s into weights (0 where
  /// not seen) and updates l. A lane that has never seen a key keeps m = −inf and gets factor 0.
  void (*tile_weigh)(float* s, int keys, const float* seen, float* m, float* l, float* factor);
  /// o[c] ← o[c]·factor + Σ_j v_j[c]·p[j], c < d.
  void (*tile_combine)(const float* p, const float* v, std::int64_t v_stride, int keys, int d,
                       const float* factor, float* o);

  /// x ← 2^x for x ≤ 127. The result is 0 for x below −126 and exactly 1 for x = 0.
  void (*exp2)(float* x, std::int64_t n);

  PlaneKernels planes;
  SieveKernels sieve;
};

/// The position of column c in q and o for the kernels of few queries.
inline std::int64_t place(const Kernels& kernels, KvType type, std::int64_t c) {
  if (!kernels.interleaved[type]) return c;
  const std::int64_t i = c & (kernels.pad - 1);  // pad is a power of 2
  return c - i + (i & 1) * (kernels.pad >> 1) + (i >> 1);
}

/// Bound on the relative error of exp2 on every target for −126 ≤ x ≤ 0; `make campaign` checks it
/// over all floats.
inline constexpr double exp2_relative_error = 0x1p-23;

// These are constants, as no code of a target's file may run before the CPU's features are known.
extern const Kernels scalar_kernels;
#ifdef TAMIS_X86
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
extern const Kernels avx512vnni_kernels;
#endif

/// The kernels in use; see tamis::target().
TAMIS_INSIDE const Kernels& kernels();
/// The compiled targets, slowest first, and whether this CPU runs each.
struct KernelTarget {
  const Kernels* kernels;
  bool runs_here;
};
const KernelTarget* kernel_targets(int& count);

/// For tests: makes all threads of the process use these kernels; null restores the choice. Must
/// not be called while another call runs.
void force_kernels(const Kernels* kernels);

}  // namespace tamis::kernels
