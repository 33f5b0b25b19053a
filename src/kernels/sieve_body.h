// The kernels of the sieve over the same vector vocabulary as body.h, which includes this file, plus
// integers: I holds W 32-bit lanes or 2·W 16-bit lanes.

#include "kernels/encode_body.h"
#include "kernels/scan_body.h"

namespace tamis {
namespace {

TAMIS_INLINE V exp2_capped(V x) { return exp2_vector(min(x, set1(126.0F))); }

constexpr std::uint32_t lane_bits = (1U << W) - 1;

/// What some rows of a block have at the keys picked, and the sums over the others.
template <int R>
TAMIS_INLINE void pick_rows(const float* weight, const std::uint32_t* mask, float* picked,
                            std::int64_t stride, float* rest) {
  V sum[R];
  for (int r = 0; r < R; ++r) sum[r] = zero();
  int n = 0;
  for (int j = 0; j < page_keys; j += W) {
    const std::uint32_t bits = mask[j / W];
    const Packing packing(bits);
    for (int r = 0; r < R; ++r) {
      const V w = load(weight + r * page_keys + j);
      store(picked + r * stride + n, packing.pack(w));
      sum[r] = add(sum[r], clear_lanes(w, bits));
    }
    n += __builtin_popcount(bits);
  }
  for (int r = 0; r < R; ++r) {
    rest[r] = reduce_add(sum[r]);
    for (int i = 0; i < 16; i += W) store(picked + r * stride + n + i, zero());
  }
}

int pick(const float* weight, int rows, const float* t, const std::uint8_t* coarse,
         const std::uint8_t* middle, const Picked& picked, float* rest) {
  std::uint32_t mask[page_keys / W] = {};
  for (int r = 0; r < rows; ++r) {
    const V limit = set1(t[r]);
    for (int j = 0; j < page_keys; j += W)
      mask[j / W] |= less_mask(limit, load(weight + r * page_keys + j));
  }
  int n = 0;
  for (int j = 0; j < page_keys; j += W) {
    const Packing packing(mask[j / W]);
    packing.pack_numbers(j, picked.key + n);
    if (coarse != nullptr) {
      packing.pack_bytes(coarse + j, picked.coarse + n);
      packing.pack_bytes(middle + j, picked.middle + n);
    }
    if (picked.scales != nullptr) {
      const ValueScales& scales = *picked.scales;
      store(scales.picked_low + n, packing.pack(Bf16::load(scales.low + j)));
      store(scales.picked_step + n, packing.pack(Bf16::load(scales.step + j)));
      store(scales.picked_norm + n, packing.pack(mul(bytes_to_floats(scales.norm + j), set1(scales.unit))));
    }
    n += __builtin_popcount(mask[j / W]);
  }
  float* to = picked.weight;
  const std::int64_t stride = picked.stride;
  for (; rows >= 4; rows -= 4, weight += 4 * page_keys, to += 4 * stride, rest += 4)
    pick_rows<4>(weight, mask, to, stride, rest);
  if (rows == 3) pick_rows<3>(weight, mask, to, stride, rest);
  if (rows == 2) pick_rows<2>(weight, mask, to, stride, rest);
  if (rows == 1) pick_rows<1>(weight, mask, to, stride, rest);
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
    for (int r = 0; r < R; ++r) reduce4_integers(sum[r], dot + r * page_keys);
  } else if constexpr (K == 2) {
    static_assert(R % 2 == 0);
    for (int r = 0; r < R; r += 2) {
      const I four[4] = {sum[r][0], sum[r][1], sum[r + 1][0], sum[r + 1][1]};
      std::int32_t value[4];
      reduce4_integers(four, value);
      for (int s = 0; s < 2; ++s)
        __builtin_memcpy(dot + (r + s) * page_keys, value + 2 * s, 2 * sizeof(std::int32_t));
    }
  } else {
    for (int r = 0; r < R; ++r) dot[r * page_keys] = reduce_add_integers(sum[r][0]);
  }
}

/// Several keys at a time, so that their sums over lanes are taken together.
template <int R, int K>
TAMIS_INLINE void dot_rows(const Listed& listed, std::int64_t stride, std::int64_t d32,
                           const std::int16_t* xi, std::int32_t* dot) {
  int i = 0;
  for (; i + K <= listed.count; i += K) dot_keys<R, K>(listed, i, stride, d32, xi, dot);
  for (; i < listed.count; ++i) dot_keys<R, 1>(listed, i, stride, d32, xi, dot);
}

void dot_listed(const Listed& listed, std::int64_t stride, std::int64_t d32, const std::int16_t* xi,
                int rows, std::int32_t* dot) {
  for (; rows >= 4; rows -= 4, xi += 4 * d32, dot += 4 * page_keys)
    dot_rows<4, 2>(listed, stride, d32, xi, dot);
  if (rows >= 2) {
    dot_rows<2, 4>(listed, stride, d32, xi, dot);
    xi += 2 * d32;
    dot += 2 * page_keys;
  }
  if (rows % 2 == 1) dot_rows<1, 4>(listed, stride, d32, xi, dot);
}

void tail_sums(const float* w, int n, float coarse, float middle, float ratio, const float* t, float* sum) {
  V s[4], limit[4], middle_limit[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    s[i] = zero();
    limit[i] = set1(t[i]);
    middle_limit[i] = set1(t[i] * ratio);
  }
  for (int j = 0; j < n; j += W) {
    const V x = load(w + j);
    const V a = mul(x, set1(coarse));
    const V b = mul(x, set1(middle));
    for (int i = 0; i < 4; ++i)
      s[i] = add(s[i], select_less(limit[i], a, select_less(middle_limit[i], b, zero(), b), a));
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

/// In two chains: a whole block is long enough for the additions to wait for each other.
TAMIS_INLINE float sum_where(const float* w, int n, const std::uint32_t* mask, std::uint32_t flip) {
  const auto at = [&](int j) { return clear_lanes(load(w + j), (mask[j / 32] ^ flip) >> (j % 32)); };
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

float sum_unmarked(const float* w, int n, const std::uint32_t* mask) { return sum_where(w, n, mask, 0); }
float sum_marked(const float* w, int n, const std::uint32_t* mask) { return sum_where(w, n, mask, ~0U); }

PartSums part_sums(const float* w, const float* delta, int n, const std::uint32_t* valued,
                   const std::uint32_t* whole) {
  V used = zero();
  V spread = zero();
  V centroid_used = zero();
  V centroid_spread = zero();
  V exact_used = zero();
  for (int j = 0; j < n; j += W) {
    const V x = load(w + j);
    const V y = load(delta + j);
    const std::uint32_t read = valued[j / 32] >> (j % 32);
    used = add(used, x);
    spread = add(spread, y);
    centroid_used = add(centroid_used, clear_lanes(x, read));
    centroid_spread = add(centroid_spread, clear_lanes(y, read));
    exact_used = add(exact_used, clear_lanes(x, ~(whole[j / 32] >> (j % 32))));
  }
  V all[8] = {used, spread, centroid_used, centroid_spread, exact_used, zero(), zero(), zero()};
  float sum[8];
  reduce8(all, sum);
  return {sum[0], sum[1], sum[2], sum[3], sum[4]};
}

/// The marked ones of a row, followed by zeros.
TAMIS_INLINE void pack_row(const float* from, int n, const std::uint32_t* mask, float* to) {
  for (int j = 0; j < n; j += W) {
    const std::uint32_t bits = mask[j / 32] >> (j % 32) & lane_bits;
    store(to, Packing(bits).pack(load(from + j)));
    to += __builtin_popcount(bits);
  }
  for (int i = 0; i < 16; i += W) store(to + i, zero());
}

int pick_marked(const std::uint8_t* key, int n, const std::uint32_t* mask, int rows, const float* w,
                const float* delta, std::int64_t stride, std::uint8_t* picked_key, float* picked_w,
                float* picked_delta) {
  int count = 0;
  for (int j = 0; j < n; j += W) {
    const std::uint32_t bits = mask[j / 32] >> (j % 32) & lane_bits;
    Packing(bits).pack_bytes(key + j, picked_key + count);
    count += __builtin_popcount(bits);
  }
  for (int r = 0; r < rows && count > 0; ++r) {
    pack_row(w + r * stride, n, mask, picked_w + r * picked_stride);
    pack_row(delta + r * stride, n, mask, picked_delta + r * picked_stride);
  }
  return count;
}

CodedSums weigh_codes(const float* w, const float* delta, const float* size, const float* low,
                      const float* residual, int n, float* p) {
  V low_sum = zero();
  V product = zero();
  for (int i = 0; i < n; i += W) {
    const V x = load(w + i);
    store(p + i, mul(x, load(size + i)));
    low_sum = fma(x, load(low + i), low_sum);
    product = fma(fma(set1(2.0F), load(delta + i), x), load(residual + i), product);
  }
  return {reduce_add(low_sum), reduce_add(product)};
}

template <int R>
TAMIS_INLINE void combine_code_rows(const float* p, std::int64_t p_stride, const Listed& listed,
                                    std::int64_t stride, std::int64_t d32, float* o,
                                    std::int64_t o_stride) {
  constexpr int step = W < 16 ? 16 : 32;  // channels at once: as many sums as registers hold
  constexpr int C = step / W;
  for (std::int64_t c = 0; c < d32; c += step) {
    V sum[R][C];
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < C; ++v) sum[r][v] = load(o + r * o_stride + c + v * W);
    const std::uint8_t* chunk = listed.codes + c / 32 * 16;
    for (int i = 0; i < listed.count; ++i) {
      V value[C];
      const std::uint8_t* code = chunk + listed.key[i] * stride;
      if constexpr (step == 32) {
        half_chunk_to_floats(code, 0, value);
        half_chunk_to_floats(code, 1, value + C / 2);
      } else {
        half_chunk_to_floats(code, static_cast<int>(c / 16 % 2), value);
      }
      for (int r = 0; r < R; ++r) {
        const V weight = set1(p[r * p_stride + i]);
        for (int v = 0; v < C; ++v) sum[r][v] = fma(weight, value[v], sum[r][v]);
      }
    }
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < C; ++v) store(o + r * o_stride + c + v * W, sum[r][v]);
  }
}

void combine_codes(const float* p, std::int64_t p_stride, int rows, const Listed& listed,
                   std::int64_t stride, std::int64_t d32, float* o, std::int64_t o_stride) {
  for (; rows >= 4; rows -= 4, p += 4 * p_stride, o += 4 * o_stride)
    combine_code_rows<4>(p, p_stride, listed, stride, d32, o, o_stride);
  if (rows == 3) combine_code_rows<3>(p, p_stride, listed, stride, d32, o, o_stride);
  if (rows == 2) combine_code_rows<2>(p, p_stride, listed, stride, d32, o, o_stride);
  if (rows == 1) combine_code_rows<1>(p, p_stride, listed, stride, d32, o, o_stride);
}

float refine(const float* bound, float* w, float* delta, const std::int32_t* dot, const std::uint8_t* e4,
             const std::uint8_t* e8, int count, float slope, float step, float shift, float slope8,
             float shift8) {
  V sum = zero();
  for (int i = 0; i < (count + 15) / 16 * 16; i += W) {
    const V change = fma(bytes_to_floats(e4 + i), set1(slope),
                         fma(to_floats(load_integers(dot + i)), set1(step), set1(shift)));
    const V estimate = mul(load(bound + i), exp2_capped(change));
    const V y = fma(bytes_to_floats(e8 + i), set1(slope8), set1(shift8));
    store(w + i, estimate);
    sum = add(sum, estimate);
    // y + 0.72·y² is above e^y − 1 up to y = 1.
    store(delta + i, mul(estimate, mul(y, fma(y, set1(0.72F), set1(1.0F)))));
  }
  return reduce_add(sum);
}

template <int R>
TAMIS_INLINE void distance_rows(const std::uint16_t* x, std::int64_t d32, const float* o, float* squares) {
  V sum[4];
  for (int r = 0; r < 4; ++r) sum[r] = zero();
  for (std::int64_t c = 0; c < d32; c += W) {
    const V y = Bf16::load(x + c);
    for (int r = 0; r < R; ++r) {
      const V z = sub(y, load(o + r * d32 + c));
      sum[r] = fma(z, z, sum[r]);
    }
  }
  float all[4];
  reduce4(sum, all);
  for (int r = 0; r < R; ++r) squares[r] = all[r];
}

void distances(const std::uint16_t* x, std::int64_t d32, const float* o, int rows, float* squares) {
  for (; rows >= 4; rows -= 4, o += 4 * d32, squares += 4) distance_rows<4>(x, d32, o, squares);
  if (rows == 3) distance_rows<3>(x, d32, o, squares);
  if (rows == 2) distance_rows<2>(x, d32, o, squares);
  if (rows == 1) distance_rows<1>(x, d32, o, squares);
}

float largest_norm2(const float* x, std::int64_t stride, int count, std::int64_t d) {
  float most = 0.0F;
  for (int j = 0; j < count; ++j) {
    V sum = zero();
    std::int64_t c = 0;
    for (; c + W <= d; c += W) {
      const V y = load(x + j * stride + c);
      sum = fma(y, y, sum);
    }
    float total = reduce_add(sum);
    for (; c < d; ++c) total += x[j * stride + c] * x[j * stride + c];
    most = total > most ? total : most;
  }
  return most;
}

constexpr SieveKernels make_sieve_table() {
  return {largest,
          {summarise_keys<F32>, summarise_keys<F16>, summarise_keys<Bf16>},
          {summarise_values<F32>, summarise_values<F16>, summarise_values<Bf16>},
          choose_steps,
          {encode_keys<F32>, encode_keys<F16>, encode_keys<Bf16>},
          {value_ranges<F32>, value_ranges<F16>, value_ranges<Bf16>},
          choose_value_steps,
          {encode_values<F32>, encode_values<F16>, encode_values<Bf16>},
          roots_above,
          codes_above,
          fold,
          coarse_dots,
          middle_dots,
          bounds,
          pick,
          dot_listed,
          tail_sums,
          sums_below,
          mark_above,
          sum_unmarked,
          sum_marked,
          part_sums,
          pick_marked,
          weigh_codes,
          combine_codes,
          refine,
          distances,
          largest_norm2,
          scan_cost};
}

}  // namespace
}  // namespace tamis
