// The kernels of the sieve over the vector operations of body.h, which includes this file, and over
// integers: I holds W 32-bit lanes or 2·W 16-bit lanes.

#include "kernels/look_body.h"

namespace tamis::kernels {
namespace {

TAMIS_INLINE V exp2_capped(V x) { return exp2_vector(min(x, set1(126.0F))); }

constexpr std::uint32_t lane_bits = (1U << W) - 1;

/// Copies the weights of R rows at the picked keys, and sums those at the other keys.
template <int R>
TAMIS_INLINE void pick_rows(const float* weight, const std::uint32_t* mask, float* picked,
                            float* rest) {
  V sum[R];
  for (int r = 0; r < R; ++r) sum[r] = zero();
  int n = 0;
  for (int j = 0; j < page_tokens; j += W) {
    const std::uint32_t bits = mask[j / W];
    const Packing packing(bits);
    for (int r = 0; r < R; ++r) {
      const V w = load(weight + r * page_tokens + j);
      store(picked + r * picked_stride + n, packing.pack(w));
      sum[r] = add(sum[r], clear_lanes(w, bits));
    }
    n += __builtin_popcount(bits);
  }
  for (int r = 0; r < R; ++r) {
    rest[r] = reduce_add(sum[r]);
    for (int i = 0; i < 16; i += W) store(picked + r * picked_stride + n + i, zero());
  }
}

int pick(const float* weight, int rows, const float* t, std::uint8_t* picked_key, float* picked_w,
         float* rest) {
  std::uint32_t mask[page_tokens / W] = {};
  for (int r = 0; r < rows; ++r) {
    const V limit = set1(t[r]);
    for (int j = 0; j < page_tokens; j += W)
      mask[j / W] |= less_mask(limit, load(weight + r * page_tokens + j));
  }
  int n = 0;
  for (int j = 0; j < page_tokens; j += W) {
    Packing(mask[j / W]).pack_numbers(j, picked_key + n);
    n += __builtin_popcount(mask[j / W]);
  }
  for (; rows >= 4; rows -= 4, weight += 4 * page_tokens, picked_w += 4 * picked_stride, rest += 4)
    pick_rows<4>(weight, mask, picked_w, rest);
  if (rows == 3) pick_rows<3>(weight, mask, picked_w, rest);
  if (rows == 2) pick_rows<2>(weight, mask, picked_w, rest);
  if (rows == 1) pick_rows<1>(weight, mask, picked_w, rest);
  return n;
}

template <int R, int K>
TAMIS_INLINE void dot_keys(const Listed& listed, int first, std::int64_t stride, std::int64_t d32,
                           const std::int16_t* xi, std::int32_t* dot) {
  I sum[R][K];
  const std::uint8_t* codes[K];
  for (int k = 0; k < K; ++k) codes[k] = listed.codes + listed.key[first + k] * stride;
  for (int r = 0; r < R; ++r)
    for (int k = 0; k < K; ++k) sum[r][k] = zero_integers();
  for (std::int64_t c = 0; c < d32; c += 32)
    for (int k = 0; k < K; ++k) {
      const Chunk chunk = unpack_chunk(codes[k] + c / 2);
      for (int r = 0; r < R; ++r)
        sum[r][k] = in_register(multiply_chunk(sum[r][k], chunk, xi + r * d32 + c));
    }
  dot += first;
  if constexpr (K == 4) {
    for (int r = 0; r < R; ++r) reduce4_integers(sum[r], dot + r * page_tokens);
  } else if constexpr (K == 2) {
    static_assert(R % 2 == 0);
    for (int r = 0; r < R; r += 2) {
      const I four[4] = {sum[r][0], sum[r][1], sum[r + 1][0], sum[r + 1][1]};
      std::int32_t value[4];
      reduce4_integers(four, value);
      for (int s = 0; s < 2; ++s)
        __builtin_memcpy(dot + (r + s) * page_tokens, value + 2 * s, 2 * sizeof(std::int32_t));
    }
  } else {
    for (int r = 0; r < R; ++r) dot[r * page_tokens] = reduce_add_integers(sum[r][0]);
  }
}

/// Processes K keys at a time, so that their sums over lanes are taken together.
template <int R, int K>
TAMIS_INLINE void dot_rows(const Listed& listed, std::int64_t stride, std::int64_t d32,
                           const std::int16_t* xi, std::int32_t* dot) {
  int i = 0;
  for (; i + K <= listed.count; i += K) dot_keys<R, K>(listed, i, stride, d32, xi, dot);
  for (; i < listed.count; ++i) dot_keys<R, 1>(listed, i, stride, d32, xi, dot);
}

void dot_listed(const Listed& listed, std::int64_t stride, std::int64_t d32, const std::int16_t* xi,
                int rows, std::int32_t* dot) {
  for (; rows >= 4; rows -= 4, xi += 4 * d32, dot += 4 * page_tokens)
    dot_rows<4, 2>(listed, stride, d32, xi, dot);
  if (rows >= 2) {
    dot_rows<2, 4>(listed, stride, d32, xi, dot);
    xi += 2 * d32;
    dot += 2 * page_tokens;
  }
  if (rows % 2 == 1) dot_rows<1, 4>(listed, stride, d32, xi, dot);
}

void tail_sums(const float* w, int n, const float* left, const float* t, float* sum) {
  V s[4], limit[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    s[i] = zero();
    limit[i] = set1(t[i]);
  }
  for (int j = 0; j < n; j += W) {
    const V x = load(w + j);
    const V a = mul(x, set1(left[0]));
    const V b = mul(x, set1(left[1]));
    const V c = mul(x, set1(left[2]));
    for (int i = 0; i < 4; ++i)
      s[i] = add(s[i], select_less(limit[i], a, select_less(limit[i], b, c, b), a));
  }
  for (int i = 0; i < 4; ++i) sum[i] += reduce_add(s[i]);
}

void sums_below(const float* w, int n, const float* t, float* sum) {
  V s[4], limit[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    s[i] = zero();
    limit[i] = set1(t[i]);
  }
  for (int j = 0; j < n; j += W) {
    const V x = load(w + j);
    for (int i = 0; i < 4; ++i) s[i] = add(s[i], select_less(limit[i], x, zero(), x));
  }
  for (int i = 0; i < 4; ++i) sum[i] += reduce_add(s[i]);
}

void mark_above(const float* w, int n, float t, std::uint32_t* mask) {
  const V limit = set1(t);
  for (int word = 0; 32 * word < n; ++word) {
    const int end = n - 32 * word < 32 ? n - 32 * word : 32;
    std::uint32_t bits = 0;
    for (int i = 0; i < end; i += W) bits |= less_mask(limit, load(w + 32 * word + i)) << i;
    mask[word] |= bits;
  }
}

/// Uses two chains of additions, since in one chain each addition would wait for the one before.
float sum_unmarked(const float* w, int n, const std::uint32_t* mask) {
  const auto at = [&](int j) { return clear_lanes(load(w + j), mask[j / 32] >> (j % 32)); };
  V even = zero();
  V odd = zero();
  int j = 0;
  for (; j + W < n; j += 2 * W) {
    even = add(even, at(j));
    odd = add(odd, at(j + W));
  }
  if (j < n) even = add(even, at(j));
  return reduce_add(add(even, odd));
}

/// Copies the marked weights of a row without gaps, followed by zeros.
TAMIS_INLINE void pack_row(const float* from, int n, const std::uint32_t* mask, float* to) {
  for (int j = 0; j < n; j += W) {
    const std::uint32_t bits = mask[j / 32] >> (j % 32) & lane_bits;
    store(to, Packing(bits).pack(load(from + j)));
    to += __builtin_popcount(bits);
  }
  for (int i = 0; i < 16; i += W) store(to + i, zero());
}

int pick_marked(const std::uint8_t* key, int n, const std::uint32_t* mask, int rows, const float* w,
                std::uint8_t* picked_key, float* picked_w) {
  int count = 0;
  for (int j = 0; j < n; j += W) {
    const std::uint32_t bits = mask[j / 32] >> (j % 32) & lane_bits;
    Packing(bits).pack_bytes(key + j, picked_key + count);
    count += __builtin_popcount(bits);
  }
  for (int r = 0; r < rows && count > 0; ++r)
    pack_row(w + r * picked_stride, n, mask, picked_w + r * picked_stride);
  return count;
}

void sharpen(const float* before, const std::int32_t* dot, int count, float step, float shift,
             float* after) {
  const V s = set1(step);
  const V b = set1(shift);
  for (int i = 0; i < (count + 15) / 16 * 16; i += W)
    store(after + i,
          mul(load(before + i), exp2_capped(fma(to_floats(load_integers(dot + i)), s, b))));
}

template <int R>
TAMIS_INLINE void centre_distances(const std::uint16_t* centre, float unit, std::int64_t d32,
                                   const float* o, float* squares) {
  const V scale = set1(unit);
  V sum[4];
  for (int r = 0; r < 4; ++r) sum[r] = zero();
  for (std::int64_t c = 0; c < d32; c += W) {
    const V x = mul(F16::load(centre + c), scale);
    for (int r = 0; r < R; ++r) {
      const V away = sub(x, load(o + r * d32 + c));
      sum[r] = fma(away, away, sum[r]);
    }
  }
  float all[4];
  reduce4(sum, all);
  for (int r = 0; r < R; ++r) squares[r] = all[r];
}

void distances(const std::uint16_t* centre, float unit, std::int64_t d32, const float* o, int rows,
               float* squares) {
  for (; rows >= 4; rows -= 4, o += 4 * d32, squares += 4)
    centre_distances<4>(centre, unit, d32, o, squares);
  if (rows == 3) centre_distances<3>(centre, unit, d32, o, squares);
  if (rows == 2) centre_distances<2>(centre, unit, d32, o, squares);
  if (rows == 1) centre_distances<1>(centre, unit, d32, o, squares);
}

template <int R>
TAMIS_INLINE void add_value_rows(const ListedNibbles& listed, int first_row, std::int64_t row_bytes,
                                 const std::uint16_t* centre, const std::uint16_t* step, float unit,
                                 std::int64_t d32, const float* half, const float* used, float* out,
                                 std::int64_t out_stride) {
  constexpr int channels = W < 16 ? 16 : 32;  // at a time, so that the registers hold all sums
  constexpr int C = channels / W;
  const V scale = set1(unit);
  for (std::int64_t c = 0; c < d32; c += channels) {
    V sum[R][C];
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < C; ++v) sum[r][v] = zero();
    for (int p = 0; p < listed.planes; ++p) {
      const std::uint8_t* chunk = listed.plane[p] + c / 32 * 16;
      const float* weights = listed.weight[p] + first_row * listed.weight_stride;
      for (int i = 0; i < listed.count[p]; ++i) {
        V nibble[C];
        const std::uint8_t* code = chunk + listed.token[p][i] * row_bytes;
        if constexpr (channels == 32) {
          half_chunk_to_floats(code, 0, nibble);
          half_chunk_to_floats(code, 1, nibble + C / 2);
        } else {
          half_chunk_to_floats(code, static_cast<int>(c / 16 % 2), nibble);
        }
        for (int r = 0; r < R; ++r) {
          const V weight = set1(weights[r * listed.weight_stride + i]);
          for (int v = 0; v < C; ++v) sum[r][v] = fma(weight, nibble[v], sum[r][v]);
        }
      }
    }
    for (int v = 0; v < C; ++v) {
      const std::int64_t at = c + v * W;
      const V m = mul(F16::load(centre + at), scale);
      const V t = mul(F16::load(step + at), scale);
      for (int r = 0; r < R; ++r) {
        float* to = out + r * out_stride + at;
        store(to, fma(t, sub(sum[r][v], set1(half[r])), fma(m, set1(used[r]), load(to))));
      }
    }
  }
}

void add_values(const ListedNibbles& listed, std::int64_t row_bytes, const std::uint16_t* centre,
                const std::uint16_t* step, float unit, std::int64_t d32, int rows,
                const float* half, const float* used, float* out, std::int64_t out_stride) {
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    add_value_rows<4>(listed, r, row_bytes, centre, step, unit, d32, half + r, used + r,
                      out + r * out_stride, out_stride);
  if (rows - r == 3)
    add_value_rows<3>(listed, r, row_bytes, centre, step, unit, d32, half + r, used + r,
                      out + r * out_stride, out_stride);
  if (rows - r == 2)
    add_value_rows<2>(listed, r, row_bytes, centre, step, unit, d32, half + r, used + r,
                      out + r * out_stride, out_stride);
  if (rows - r == 1)
    add_value_rows<1>(listed, r, row_bytes, centre, step, unit, d32, half + r, used + r,
                      out + r * out_stride, out_stride);
}

constexpr SieveKernels make_sieve_table() {
  return {fold,       dots_of_plane, dots_of_planes, weigh_keys,  tail_sums,
          sums_below, mark_above,    sum_unmarked,   pick_marked, pick,
          dot_listed, sharpen,       distances,      add_values};
}

}  // namespace
}  // namespace tamis::kernels
