// The kernels, written once over a small set of vector operations and compiled once per target. A
// target's file includes its vectors_TARGET.h, then this file, and calls make_table.
// vectors_TARGET.h defines the operations used below and the types and constants V (a vector of
// floats), W (floats in V) and broadcast_rows (rows of a tile block that the registers hold).
// Everything here has internal linkage and uses no library, so no code can leak between targets.
//
// Cost: `logits` and `combine` do rows·keys·d multiply-adds and read K or V once; the tile kernels
// do tile·keys·d multiply-adds at one load per multiply-add or less.
//
// The order of every sum depends only on d and the target, never on how many rows or keys share a
// call, so a row's bits are the same in any batch.

#include "kernels/vector_math.h"

namespace tamis::kernels {
namespace {

// ---- exp2 ----

void exp2_all(float* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + W <= n; i += W) store(x + i, exp2_vector(load(x + i)));
  if (i < n) {
    float last[W] = {};
    for (std::int64_t j = i; j < n; ++j) last[j - i] = x[j];
    store(last, exp2_vector(load(last)));
    for (std::int64_t j = i; j < n; ++j) x[j] = last[j - i];
  }
}

// ---- Prefetching ----

/// Prefetches a range of memory in small equal steps, one per inner iteration, as many bytes as the
/// iteration itself uses. In bursts the requests would overflow the core's miss buffers and be
/// dropped. Steps past the end are harmless.
struct Ahead {
  std::uintptr_t next;
  std::int64_t bytes;
  std::int64_t step = 0;

  TAMIS_INLINE void spread_over(std::int64_t iterations) {
    if (iterations > 0) step = (bytes + iterations - 1) / iterations;
    bytes = 0;  // a second pass over the page fetches nothing more
  }
  template <int used>
  TAMIS_INLINE void fetch() {
    constexpr std::uintptr_t end = used > 1 ? used : 1;
    for (std::uintptr_t line = 0; line < end; line += 64)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the address may lie past the end
      __builtin_prefetch(reinterpret_cast<const void*>(next + line), 0, 2);
    next += static_cast<std::uintptr_t>(step);
  }
};

// ---- Few queries: columns are processed in pairs of vectors ----

/// Vector h of the 2·W elements at p, split in the way that is cheapest for Type: the first and the
/// second half, or the even and the odd elements.
template <class Type>
TAMIS_INLINE V load_half(const typename Type::Element* p, int h) {
  if constexpr (Type::interleaved) {
    return h == 0 ? Type::load_even(p) : Type::load_odd(p);
  } else {
    return Type::load(p + h * W);
  }
}

/// The same for the first n < 2·W elements, followed by zeros.
template <class Type>
TAMIS_INLINE V load_half_first(const typename Type::Element* p, int n, int h) {
  typename Type::Element x[2 * W] = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return load_half<Type>(x, h);
}

/// sum(r, j) += q_r[c …]·k_j[c …] for one vector of the head dimension. The smaller of R and K
/// stays in registers while the other streams, so that R·K + min(R, K) + 1 registers are enough.
template <int R, int K, class LoadKey>
TAMIS_INLINE void logits_step(V (&sum)[R][K], const float* q, std::int64_t q_stride,
                              LoadKey load_key) {
  if constexpr (R <= K) {
    V x[R];
    for (int r = 0; r < R; ++r) x[r] = in_register(load(q + r * q_stride));
    for (int j = 0; j < K; ++j) {
      const V key = load_key(j);
      for (int r = 0; r < R; ++r) sum[r][j] = fma(x[r], key, sum[r][j]);
    }
  } else {
    V key[K];
    for (int j = 0; j < K; ++j) key[j] = load_key(j);
    for (int r = 0; r < R; ++r) {
      const V x = in_register(load(q + r * q_stride));
      for (int j = 0; j < K; ++j) sum[r][j] = fma(x, key[j], sum[r][j]);
    }
  }
}

/// Computes s(r, j) for R rows and K keys; `whole` means that d is a multiple of 2·W.
template <class Type, int R, int K, bool whole>
TAMIS_INLINE void logits_block(const float* q, std::int64_t q_stride,
                               const typename Type::Element* k, std::int64_t k_stride, int d,
                               float* s, std::int64_t s_stride, Ahead& ahead) {
  V sum[R][K];
  for (int r = 0; r < R; ++r)
    for (int j = 0; j < K; ++j) sum[r][j] = zero();
  constexpr int bytes = 2 * K * W * static_cast<int>(sizeof(*k));
  int c = 0;
  for (; c + 2 * W <= d; c += 2 * W) {
    ahead.template fetch<bytes>();
    for (int h = 0; h < 2; ++h)
      logits_step<R, K>(sum, q + c + h * W, q_stride,
                        [&](int j) { return load_half<Type>(k + j * k_stride + c, h); });
  }
  if constexpr (!whole)
    for (int h = 0; h < 2; ++h)
      logits_step<R, K>(sum, q + c + h * W, q_stride, [&](int j) {
        return load_half_first<Type>(k + j * k_stride + c, d - c, h);
      });
  if constexpr (K == 4) {
    for (int r = 0; r < R; ++r) reduce4(sum[r], s + r * s_stride);
  } else {
    static_assert(R * K <= 8);
    V all[8];
    for (int i = 0; i < 8; ++i) all[i] = i < R * K ? sum[i / K][i % K] : zero();
    float value[8];
    reduce8(all, value);
    for (int r = 0; r < R; ++r)
      __builtin_memcpy(s + r * s_stride, value + r * K, K * sizeof(float));
  }
}

template <class Type, int R, int K, bool whole>
TAMIS_INLINE void logits_rows(const float* q, std::int64_t q_stride,
                              const typename Type::Element* k, std::int64_t k_stride, int keys,
                              int d, float* s, std::int64_t s_stride, Ahead& ahead) {
  ahead.spread_over(keys / K * (d / (2 * W)));
  int j = 0;
  for (; j + K <= keys; j += K)
    logits_block<Type, R, K, whole>(q, q_stride, k + j * k_stride, k_stride, d, s + j, s_stride,
                                    ahead);
  for (; j < keys; ++j)
    logits_block<Type, R, 1, whole>(q, q_stride, k + j * k_stride, k_stride, d, s + j, s_stride,
                                    ahead);
}

template <class Type, bool whole>
void logits(const float* q, std::int64_t q_stride, int rows, const void* k_bytes,
            std::int64_t k_stride, int keys, int d, float* s, std::int64_t s_stride,
            const void* from, std::int64_t bytes) {
  if constexpr (whole) {
    if (d % (2 * W) != 0)
      return logits<Type, false>(q, q_stride, rows, k_bytes, k_stride, keys, d, s, s_stride, from,
                                 bytes);
  }
  const auto* k = static_cast<const typename Type::Element*>(k_bytes);
  Ahead ahead{reinterpret_cast<std::uintptr_t>(from), bytes};
  for (; rows >= 4; rows -= 4, q += 4 * q_stride, s += 4 * s_stride)
    logits_rows<Type, 4, 2, whole>(q, q_stride, k, k_stride, keys, d, s, s_stride, ahead);
  if (rows == 3)
    logits_rows<Type, 3, 4, whole>(q, q_stride, k, k_stride, keys, d, s, s_stride, ahead);
  if (rows == 2)
    logits_rows<Type, 2, 4, whole>(q, q_stride, k, k_stride, keys, d, s, s_stride, ahead);
  if (rows == 1)
    logits_rows<Type, 1, 8, whole>(q, q_stride, k, k_stride, keys, d, s, s_stride, ahead);
}

template <class Type>
float largest_norm2(const void* bytes, std::int64_t stride, int count, int d) {
  const auto* x = static_cast<const typename Type::Element*>(bytes);
  float most = 0.0F;
  for (int j = 0; j < count; j += 4) {
    V sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = zero();
    for (int i = 0; i < 4; ++i) {
      const auto* row = x + (j + i < count ? j + i : j) * stride;
      int c = 0;
      for (; c + 2 * W <= d; c += 2 * W)
        for (int h = 0; h < 2; ++h) {
          const V y = load_half<Type>(row + c, h);
          sum[i] = fma(y, y, sum[i]);
        }
      if (c == d) continue;
      for (int h = 0; h < 2; ++h) {
        const V y = load_half_first<Type>(row + c, d - c, h);
        sum[i] = fma(y, y, sum[i]);
      }
    }
    float squares[4];
    reduce4(sum, squares);
    for (int i = 0; i < 4; ++i) most = squares[i] > most ? squares[i] : most;
  }
  return most;
}

float maximum(const float* s, int n) {
  float best = s[0];
  int j = 0;
  if (n >= W) {
    V top = load(s);
    for (j = W; j + W <= n; j += W) top = max(top, load(s + j));
    best = reduce_max(top);
  }
  for (; j < n; ++j) best = s[j] > best ? s[j] : best;
  return best;
}

float weigh(float* s, int n, float shift) {
  const V m = set1(shift);
  V sum = zero();
  V finite = zero();  // 0·t is NaN for an infinite or NaN t, and stays so in the sum
  int j = 0;
  for (; j + W <= n; j += W) {
    const V t = sub(load(s + j), m);
    finite = fma(t, zero(), finite);
    const V p = exp2_vector(t);
    store(s + j, p);
    sum = add(sum, p);
  }
  if (j < n) {
    const V t = sub(load(s + j), m);
    const V p = first_lanes(exp2_vector(t), n - j);
    finite = fma(first_lanes(t, n - j), zero(), finite);
    store(s + j, p);
    sum = add(sum, p);
  }
  return reduce_add(add(sum, finite));
}

/// sum(r, c) += p_r·v[c] for one key. The smaller of R and C stays in registers.
template <int R, int C, class LoadValue>
TAMIS_INLINE void combine_step(V (&sum)[R][C], const float* p, std::int64_t p_stride,
                               LoadValue load_value) {
  if constexpr (R < C) {
    V weight[R];
    for (int r = 0; r < R; ++r) weight[r] = set1(p[r * p_stride]);
    for (int c = 0; c < C; ++c) {
      const V value = load_value(c);
      for (int r = 0; r < R; ++r) sum[r][c] = fma(weight[r], value, sum[r][c]);
    }
  } else {
    V value[C];
    for (int c = 0; c < C; ++c) value[c] = load_value(c);
    for (int r = 0; r < R; ++r) {
      const V weight = set1(p[r * p_stride]);
      for (int c = 0; c < C; ++c) sum[r][c] = fma(weight, value[c], sum[r][c]);
    }
  }
}

/// Adds the first `keys` keys to o(r, 0 …) for R rows and C vectors of the head dimension, or for
/// its last `rest` columns if `rest` is not 0. If `first`, o starts at 0.
template <class Type, int R, int C>
TAMIS_INLINE void combine_block(const float* p, std::int64_t p_stride,
                                const typename Type::Element* v, std::int64_t v_stride, int keys,
                                int rest, bool first, float* o, std::int64_t o_stride,
                                Ahead& ahead) {
  V sum[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) sum[r][c] = first ? zero() : load(o + r * o_stride + c * W);
  constexpr int bytes = C * W * static_cast<int>(sizeof(*v));
  if (rest == 0) {
    for (int j = 0; j < keys; ++j) {
      ahead.template fetch<bytes>();
      const auto* row = v + j * v_stride;
      combine_step<R, C>(sum, p + j, p_stride,
                         [&](int c) { return load_half<Type>(row + c / 2 * 2 * W, c % 2); });
    }
  } else {
    for (int j = 0; j < keys; ++j) {
      const auto* row = v + j * v_stride;
      combine_step<R, C>(sum, p + j, p_stride,
                         [&](int c) { return load_half_first<Type>(row, rest, c); });
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) store(o + r * o_stride + c * W, sum[r][c]);
}

template <class Type, int R, int C>
TAMIS_INLINE void combine_rows(const float* p, std::int64_t p_stride,
                               const typename Type::Element* v, std::int64_t v_stride, int keys,
                               int d, float* o, std::int64_t o_stride, Ahead& ahead) {
  // 32 rows of V stay in the first-level cache while C columns advance.
  constexpr int some_keys = 32;
  ahead.spread_over(static_cast<std::int64_t>(keys) * (d / (C * W)));
  for (int j = 0; j < keys; j += some_keys) {
    const int count = keys - j < some_keys ? keys - j : some_keys;
    const bool first = j == 0;
    int c = 0;
    for (; c + C * W <= d; c += C * W)
      combine_block<Type, R, C>(p + j, p_stride, v + j * v_stride + c, v_stride, count, 0, first,
                                o + c, o_stride, ahead);
    for (; c + 2 * W <= d; c += 2 * W)
      combine_block<Type, R, 2>(p + j, p_stride, v + j * v_stride + c, v_stride, count, 0, first,
                                o + c, o_stride, ahead);
    if (c < d)
      combine_block<Type, R, 2>(p + j, p_stride, v + j * v_stride + c, v_stride, count, d - c,
                                first, o + c, o_stride, ahead);
  }
}

template <class Type>
void combine(const float* p, std::int64_t p_stride, int rows, const void* v_bytes,
             std::int64_t v_stride, int keys, int d, float* o, std::int64_t o_stride,
             const void* from, std::int64_t bytes) {
  const auto* v = static_cast<const typename Type::Element*>(v_bytes);
  Ahead ahead{reinterpret_cast<std::uintptr_t>(from), bytes};
  for (; rows >= 4; rows -= 4, p += 4 * p_stride, o += 4 * o_stride)
    combine_rows<Type, 4, 2>(p, p_stride, v, v_stride, keys, d, o, o_stride, ahead);
  if (rows == 3) combine_rows<Type, 3, 4>(p, p_stride, v, v_stride, keys, d, o, o_stride, ahead);
  if (rows == 2) combine_rows<Type, 2, 4>(p, p_stride, v, v_stride, keys, d, o, o_stride, ahead);
  if (rows == 1) combine_rows<Type, 1, 8>(p, p_stride, v, v_stride, keys, d, o, o_stride, ahead);
}

void scale_add(float* a, float factor, const float* b, int n) {
  const V f = set1(factor);
  for (int i = 0; i < n; i += W) store(a + i, fma(load(a + i), f, load(b + i)));
}

// ---- Many queries ----

template <class Type>
void widen(const void* src_bytes, float* dst, std::int64_t n) {
  const auto* src = static_cast<const typename Type::Element*>(src_bytes);
  std::int64_t i = 0;
  for (; i + W <= n; i += W) store(dst + i, Type::load(src + i));
  if (i < n) {
    float last[W];
    store(last, Type::load_first(src + i, static_cast<int>(n - i)));
    for (std::int64_t j = i; j < n; ++j) dst[j] = last[j - i];
  }
}

/// out(i, 0 … T) ← out(i, …)·factor + Σ_{t < depth} a(i, t)·b(t, 0 … T) for i < R, where a(i, t) =
/// a[i·row + t·column]. tile_logits and tile_combine are this matrix product.
template <int R, bool accumulate>
TAMIS_INLINE void tile_block(const float* a, std::int64_t row, std::int64_t column, const float* b,
                             int depth, const float* factor, float* out) {
  V sum[R][2];
  for (int i = 0; i < R; ++i) sum[i][0] = sum[i][1] = zero();
  for (int t = 0; t < depth; ++t) {
    const V b0 = load(b + t * T);
    const V b1 = load(b + t * T + W);
    for (int i = 0; i < R; ++i) {
      const V x = set1(a[i * row + t * column]);
      sum[i][0] = fma(x, b0, sum[i][0]);
      sum[i][1] = fma(x, b1, sum[i][1]);
    }
  }
  for (int i = 0; i < R; ++i)
    for (int half = 0; half < 2; ++half) {
      float* place = out + i * T + half * W;
      store(place,
            accumulate ? fma(load(place), load(factor + half * W), sum[i][half]) : sum[i][half]);
    }
}

template <bool accumulate>
TAMIS_INLINE void tile_product(const float* a, std::int64_t row, std::int64_t column, int rows,
                               const float* b, int depth, const float* factor, float* out) {
  constexpr int R = broadcast_rows;
  int i = 0;
  for (; i + R <= rows; i += R)
    tile_block<R, accumulate>(a + i * row, row, column, b, depth, factor, out + i * T);
  for (; i + 2 <= rows; i += 2)
    tile_block<2, accumulate>(a + i * row, row, column, b, depth, factor, out + i * T);
  if (i < rows) tile_block<1, accumulate>(a + i * row, row, column, b, depth, factor, out + i * T);
}

void tile_logits(const float* q, const float* k, std::int64_t k_stride, int keys, int d, float* s) {
  tile_product<false>(k, k_stride, 1, keys, q, d, nullptr, s);
}

void tile_combine(const float* p, const float* v, std::int64_t v_stride, int keys, int d,
                  const float* factor, float* o) {
  tile_product<true>(v, 1, v_stride, d, p, keys, factor, o);
}

/// The body of tile_weigh; `masked` means that some lane does not see the whole page.
template <bool masked>
TAMIS_INLINE void tile_weigh_page(float* s, int keys, const float* seen, float* m, float* l,
                                  float* factor) {
  const V lowest = set1(-__builtin_inff());
  V limit[2], top[2], shift[2], sum[2], finite[2];
  for (int h = 0; h < 2; ++h) {
    limit[h] = load(seen + h * W);
    top[h] = load(m + h * W);
    sum[h] = finite[h] = zero();
  }
  const auto where_seen = [&](int h, int j, V yes, V no) {
    if constexpr (masked) return select_less(set1(static_cast<float>(j)), limit[h], yes, no);
    return yes;
  };
  for (int j = 0; j < keys; ++j)
    for (int h = 0; h < 2; ++h)
      top[h] = max(top[h], where_seen(h, j, load(s + j * T + h * W), lowest));
  // A lane without keys so far has top = −inf. It is shifted by 0, as its weights are all masked.
  for (int h = 0; h < 2; ++h) shift[h] = select_less(lowest, top[h], top[h], zero());
  for (int j = 0; j < keys; ++j)
    for (int h = 0; h < 2; ++h) {
      float* place = s + j * T + h * W;
      const V t = where_seen(h, j, sub(load(place), shift[h]), zero());
      finite[h] = fma(t, zero(), finite[h]);
      const V p = where_seen(h, j, exp2_vector(t), zero());
      store(place, p);
      sum[h] = add(sum[h], p);
    }
  for (int h = 0; h < 2; ++h) {
    const V shrink = exp2_vector(sub(load(m + h * W), shift[h]));  // 0 for m = −inf
    store(factor + h * W, shrink);
    store(m + h * W, top[h]);
    store(l + h * W, fma(load(l + h * W), shrink, add(sum[h], finite[h])));
  }
}

void tile_weigh(float* s, int keys, const float* seen, float* m, float* l, float* factor) {
  bool whole = true;
  for (int i = 0; i < T; ++i) whole = whole && seen[i] == static_cast<float>(keys);
  if (whole) {
    tile_weigh_page<false>(s, keys, seen, m, l, factor);
  } else {
    tile_weigh_page<true>(s, keys, seen, m, l, factor);
  }
}

}  // namespace
}  // namespace tamis::kernels

#include "kernels/planes_body.h"
#include "kernels/sieve_body.h"

namespace tamis::kernels {
namespace {

constexpr Kernels make_table(const char* name, Vectors vectors) {
  return {name,
          vectors,
          2 * W,
          T,
          {F32::interleaved, F16::interleaved, Bf16::interleaved},
          {logits<F32, true>, logits<F16, true>, logits<Bf16, true>},
          {largest_norm2<F32>, largest_norm2<F16>, largest_norm2<Bf16>},
          maximum,
          sum_of,
          weigh,
          {combine<F32>, combine<F16>, combine<Bf16>},
          scale_add,
          {widen<F32>, widen<F16>, widen<Bf16>},
          tile_logits,
          tile_weigh,
          tile_combine,
          exp2_all,
          make_plane_table(),
          make_sieve_table()};
}

}  // namespace
}  // namespace tamis::kernels
