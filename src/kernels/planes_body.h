// Coding and decoding of blocks in planes over the vector operations of a target; body.h includes
// this file. Nothing here is fused or summed in another order than planes.h says, so that every
// target makes the same bytes.
//
// Cost: coding takes about 20 + 6·levels vector operations per W numbers, decoding 3 + 5·levels.

namespace tamis::kernels {
namespace {

TAMIS_INLINE void fetch_row(const RowsAhead& ahead, int j) {
  const auto* row = static_cast<const char*>(ahead.at) + j * ahead.stride;
  for (std::int64_t line = 0; line < ahead.bytes; line += 64) __builtin_prefetch(row + line, 0, 2);
}

constexpr int lane_vectors = 16 / W;  // vectors that hold the 16 lanes of a sum
constexpr int rows_together = 8;      // rows whose sums over lanes are taken together

/// The first step of a sum over lanes adds lanes i + 8 to lanes i; reduce8 does the others. On the
/// portable target, where a vector has one lane, this does all steps.
TAMIS_INLINE V fold_lanes(const V (&sum)[lane_vectors]) {
  if constexpr (lane_vectors == 1) {
    return sum[0];
  } else if constexpr (lane_vectors == 2) {
    return add(sum[0], sum[1]);
  } else {
    V eight[8];
    for (int i = 0; i < 8; ++i) eight[i] = add(sum[i], sum[i + 8]);
    return add(add(add(eight[0], eight[1]), add(eight[2], eight[3])),
               add(add(eight[4], eight[5]), add(eight[6], eight[7])));
  }
}

TAMIS_INLINE float sum_of_lanes(const V (&sum)[lane_vectors]) {
  V all[8];
  for (int i = 0; i < 8; ++i) all[i] = zero();
  all[0] = fold_lanes(sum);
  float out[8];
  reduce8(all, out);
  return out[0];
}

template <class Type>
TAMIS_INLINE const typename Type::Element* listed_row(const TokenRows& rows, int i) {
  return static_cast<const typename Type::Element*>(rows.at) + rows.token[i] * rows.stride;
}

// ---- Ranges ----

float largest(const float* x, std::int64_t n) {
  V most = zero();
  V finite = zero();  // 0·x is NaN for an infinite or NaN x, and stays so in the sum
  for (std::int64_t i = 0; i < n; i += W) {
    const V y = load(x + i);
    most = max(most, max(y, sub(zero(), y)));
    finite = fma(y, zero(), finite);
  }
  return reduce_max(most) + reduce_add(finite);
}

template <class Type, bool summed, int R>
TAMIS_INLINE void range_of_rows(const TokenRows& rows, int first, std::int64_t d32, float* low,
                                float* high, float* sum) {
  const typename Type::Element* row[R];
  for (int i = 0; i < R; ++i) row[i] = listed_row<Type>(rows, first + i);
  for (std::int64_t c = 0; c < d32; c += W) {
    V least = load(low + c);
    V most = load(high + c);
    V total = summed ? load(sum + c) : zero();
    for (int i = 0; i < R; ++i) {
      const V x = Type::load(row[i] + c);
      least = min(least, x);
      most = max(most, x);
      if constexpr (summed) total = add(total, x);
    }
    store(low + c, least);
    store(high + c, most);
    if constexpr (summed) store(sum + c, total);
  }
}

template <class Type, bool summed>
TAMIS_INLINE void ranges(const TokenRows& rows, std::int64_t d32, float* low, float* high,
                         float* sum) {
  for (std::int64_t c = 0; c < d32; c += W) {
    const V first = rows.count == 0 ? zero() : Type::load(listed_row<Type>(rows, 0) + c);
    store(low + c, first);
    store(high + c, first);
    if constexpr (summed) store(sum + c, zero());
  }
  int i = 0;
  for (; i + rows_together <= rows.count; i += rows_together)
    range_of_rows<Type, summed, rows_together>(rows, i, d32, low, high, sum);
  for (; i < rows.count; ++i) range_of_rows<Type, summed, 1>(rows, i, d32, low, high, sum);
}

template <class Type>
void key_ranges(const TokenRows& rows, std::int64_t d32, float* low, float* high) {
  ranges<Type, false>(rows, d32, low, high, nullptr);
}
template <class Type>
void value_ranges(const TokenRows& rows, std::int64_t d32, float* low, float* high, float* sum) {
  ranges<Type, true>(rows, d32, low, high, sum);
}

// ---- Centres and steps ----

/// 16^n.
TAMIS_INLINE float sixteen_to(int n) { return static_cast<float>(1U << (4 * n)); }

/// `middle` gives the number, in units, that the centre is rounded from.
template <class Middle>
TAMIS_INLINE ChannelSums choose(const float* low, const float* high, float unit, int levels,
                                std::int64_t d, std::int64_t d32, std::uint16_t* centre16,
                                std::uint16_t* step16, const ChannelCodes& out, Middle middle) {
  const V units = set1(unit);
  const V per_unit = set1(1.0F / unit);  // exact, as are products with it that do not underflow
  const V finest = set1(sixteen_to(levels - 1));
  const V per_finest = set1(1.0F / sixteen_to(levels - 1));
  const V offset = set1((3 * sixteen_to(levels) - 1.0F) / 2);
  for (std::int64_t c = 0; c < d32; c += W) {
    // + 0 turns −0 into +0, as targets differ in which of two zeros is the smaller.
    F16::store_nearest(centre16 + c, add(middle(c), zero()));
    const V m = mul(F16::load(centre16 + c), units);
    const V reach = mul(max(sub(load(high + c), m), sub(m, load(low + c))), per_unit);
    F16::store_above(step16 + c, max(mul(reach, set1(0.125F * (1 + 0x1p-20F))), set1(0x1p-14F)));
    const V t = F16::load(step16 + c);
    store(out.centre + c, m);
    store(out.inverse + c, div(finest, mul(t, units)));
    store(out.offset + c, offset);
    store(out.finest + c, mul(t, per_finest));
  }
  for (std::int64_t c = d; c < d32; ++c) {
    centre16[c] = step16[c] = 0;
    out.centre[c] = out.inverse[c] = out.offset[c] = out.finest[c] = 0.0F;
  }
  V centres[lane_vectors], steps[lane_vectors];
  for (int i = 0; i < lane_vectors; ++i) centres[i] = steps[i] = zero();
  for (std::int64_t c = 0; c < d32; c += 16)
    for (int i = 0; i < lane_vectors; ++i) {
      const V m = F16::load(centre16 + c + i * W);
      const V t = F16::load(step16 + c + i * W);
      centres[i] = add(centres[i], mul(m, m));
      steps[i] = add(steps[i], mul(t, t));
    }
  return {sum_of_lanes(centres), sum_of_lanes(steps)};
}

ChannelSums choose_keys(const float* low, const float* high, float unit, int levels, std::int64_t d,
                        std::int64_t d32, std::uint16_t* centre, std::uint16_t* step,
                        const ChannelCodes& out) {
  const V half_per_unit = set1(0.5F / unit);
  return choose(low, high, unit, levels, d, d32, centre, step, out, [&](std::int64_t c) {
    return mul(add(load(low + c), load(high + c)), half_per_unit);
  });
}

ChannelSums choose_values(const float* low, const float* high, const float* sum, float per_token,
                          float unit, int levels, std::int64_t d, std::int64_t d32,
                          std::uint16_t* centre, std::uint16_t* step, const ChannelCodes& out) {
  const V share = set1(per_token);
  const V per_unit = set1(1.0F / unit);
  return choose(low, high, unit, levels, d, d32, centre, step, out,
                [&](std::int64_t c) { return mul(mul(load(sum + c), share), per_unit); });
}

// ---- Codes ----

/// Stores the nibbles of 32 codes in L planes.
template <bool keys, int L>
TAMIS_INLINE void store_code(const I (&code)[32 / W], const PlaneRows& planes, std::int64_t at) {
  if constexpr (L == 2) {
    if constexpr (keys) {
      store_planes(code, planes.plane[1] + at, planes.plane[0] + at);
    } else {
      store_chunks(code, planes.plane[1] + at, planes.plane[0] + at);
    }
  } else {
    std::uint8_t none[16];  // never read, so the compiler drops the stores to it
    std::uint8_t* const lowest_first[4] = {planes.plane[L - 1] + at, planes.plane[L - 2] + at,
                                           planes.plane[L - 3] + at,
                                           L == 4 ? planes.plane[0] + at : none};
    if constexpr (keys) {
      store_planes(split_codes(code), lowest_first);
    } else {
      store_chunks(split_codes(code), lowest_first);
    }
  }
}

/// Adding 2^23 to a number below it leaves the nearest integer in the last bits of the sum.
constexpr float in_last_bits = 0x1p23F;

/// Codes one row: writes its nibbles at byte `to` of the planes and its sums lane by lane. Lanes
/// beyond one vector are processed one vector after the other, so that all sums stay in registers.
template <class Type, bool keys, int L>
TAMIS_INLINE void code_row(const typename Type::Element* x, std::int64_t d32,
                           const ChannelCodes& channels, const PlaneRows& planes, std::int64_t to,
                           V (&folded)[L + 2]) {
  constexpr std::uint32_t last_code = (1U << (4 * L)) - 1;
  std::uint8_t codes[4 * most_channels];
  V sum[L + 2][lane_vectors];
  for (int lane = 0; lane < lane_vectors; ++lane) {
    V total[L + 2];
    for (int s = 0; s < L + 2; ++s) total[s] = zero();
    for (std::int64_t c = lane * W; c < d32; c += 16) {
      const auto count = [&](int s, V y) { total[s] = add(total[s], mul(y, y)); };
      const V number = Type::load(x + c);
      const V away = sub(number, load(channels.centre + c));
      const V p = mul(away, load(channels.inverse + c));
      const V t = add(p, load(channels.offset + c));
      const I shifted = as_integers(add(t, set1(in_last_bits)));
      // The code lies in 0 … last_code without clipping, as docs/certificates.md shows.
      store_group(codes + 4 * c, and_integers(shifted, set1_integers(last_code)));
      V e = zero();
#pragma GCC unroll 4
      for (int l = L - 1; l >= 0; --l) {
        const std::uint32_t unread = (1U << (4 * (L - 1 - l))) - 1;
        const V known = as_floats(and_integers(shifted, set1_integers(~unread)));
        // The inner difference, the known part plus the middle of what is unread, is exact: it is
        // a multiple of ½ below 2^18.
        e = sub(t, sub(known, set1(in_last_bits - static_cast<float>(unread) / 2)));
        count(l, keys ? e : mul(e, load(channels.finest + c)));
      }
      if constexpr (keys) {
        count(L, p);
        count(L + 1, sub(p, e));
      } else {
        count(L, away);
        count(L + 1, number);
      }
    }
    for (int s = 0; s < L + 2; ++s) sum[s][lane] = total[s];
  }
  for (int s = 0; s < L + 2; ++s) folded[s] = fold_lanes(sum[s]);
  for (std::int64_t c = 0; c < d32; c += 32) {
    I code[32 / W];
    for (int n = 0; n < 32 / W; ++n) code[n] = load_group(codes + 4 * (c + n * W));
    store_code<keys, L>(code, planes, to + c / 2);
  }
}

template <class Type, bool keys, int L>
TAMIS_INLINE void code_rows(const TokenRows& rows, std::int64_t d32, const ChannelCodes& channels,
                            const PlaneRows& planes, float* sums, const RowsAhead& ahead) {
  for (int first = 0; first < page_tokens; first += rows_together) {
    V sum[L + 2][rows_together];
    for (int i = 0; i < rows_together; ++i) {
      V folded[L + 2];
      fetch_row(ahead, first + i);
      if (first + i < rows.count) {
        code_row<Type, keys, L>(listed_row<Type>(rows, first + i), d32, channels, planes,
                                rows.token[first + i] * (d32 / 2), folded);
      } else {
        for (int s = 0; s < L + 2; ++s) folded[s] = zero();
      }
      for (int s = 0; s < L + 2; ++s) sum[s][i] = folded[s];
    }
    for (int s = 0; s < L + 2; ++s) reduce8(sum[s], sums + s * page_tokens + first);
  }
}

template <class Type, bool keys>
TAMIS_INLINE void code_of_levels(const TokenRows& rows, std::int64_t d32, int levels,
                                 const ChannelCodes& channels, const PlaneRows& planes, float* sums,
                                 const RowsAhead& ahead) {
  if (levels == 2) code_rows<Type, keys, 2>(rows, d32, channels, planes, sums, ahead);
  if (levels == 3) code_rows<Type, keys, 3>(rows, d32, channels, planes, sums, ahead);
  if (levels == 4) code_rows<Type, keys, 4>(rows, d32, channels, planes, sums, ahead);
}

template <class Type>
void code_keys(const TokenRows& rows, std::int64_t d32, int levels, const ChannelCodes& channels,
               const PlaneRows& planes, float* sums, const RowsAhead& ahead) {
  code_of_levels<Type, true>(rows, d32, levels, channels, planes, sums, ahead);
}
template <class Type>
void code_values(const TokenRows& rows, std::int64_t d32, int levels, const ChannelCodes& channels,
                 const PlaneRows& planes, float* sums, const RowsAhead& ahead) {
  code_of_levels<Type, false>(rows, d32, levels, channels, planes, sums, ahead);
}

void turn_plane(const std::uint8_t* rows, std::int64_t d32, std::uint8_t* tiles) {
  for (int tile = 0; tile < page_tokens; tile += tile_keys)
    for (int first = tile; first < tile + tile_keys; first += W)
      for (std::int64_t t = 0; t < d32 / 32; ++t) {
        I four[4];
        turn_chunks(rows + first * (d32 / 2), d32 / 2, 16 * t, four);
        std::uint8_t* to = tiles + tile * (d32 / 2) + (first - tile) * 4;
        for (int g = 0; g < 4; ++g) store_group(to + (4 * t + g) * 4 * tile_keys, four[g]);
      }
}

// ---- Decoding ----

template <bool keys, int L>
TAMIS_INLINE void decode_levels(const CodedRows& rows, int count, const std::uint16_t* centre,
                                const std::uint16_t* step, float unit, std::int64_t d,
                                std::int64_t d32, float* out, std::int64_t out_stride) {
  const V middle = set1((sixteen_to(L) - 1.0F) / 2);
  for (std::int64_t c = 0; c < d; c += 32) {
    V m[32 / W], t[32 / W];
    for (int n = 0; n < 32 / W; ++n) {
      m[n] = mul(F16::load(centre + c + n * W), set1(unit));
      t[n] = mul(F16::load(step + c + n * W), set1(unit / sixteen_to(L - 1)));
    }
    const bool whole = c + 32 <= d;
    for (int i = 0; i < count; ++i) {
      float last[32];
      float* to = whole ? out + i * out_stride + c : last;
      for (int half = 0; half < 2; ++half) {
        V code[lane_vectors];
        for (int l = 0; l < L; ++l) {
          const std::uint8_t* chunk = rows.plane[l] + i * (d32 / 2) + c / 2;
          V nibble[lane_vectors];
          if constexpr (keys) {
            half_plane_to_floats(chunk, half, nibble);
          } else {
            half_chunk_to_floats(chunk, half, nibble);
          }
          for (int n = 0; n < lane_vectors; ++n)
            code[n] = l == 0 ? nibble[n] : add(mul(code[n], set1(16.0F)), nibble[n]);
        }
        for (int n = 0; n < lane_vectors; ++n) {
          const int at = half * lane_vectors + n;
          store(to + at * W, add(m[at], mul(t[at], sub(code[n], middle))));
        }
      }
      if (!whole)
        for (std::int64_t k = c; k < d; ++k) out[i * out_stride + k] = last[k - c];
    }
  }
}

template <bool keys>
void decode_rows(const CodedRows& rows, int count, int levels, const std::uint16_t* centre,
                 const std::uint16_t* step, float unit, std::int64_t d, std::int64_t d32,
                 float* out, std::int64_t out_stride) {
  if (levels == 1) decode_levels<keys, 1>(rows, count, centre, step, unit, d, d32, out, out_stride);
  if (levels == 2) decode_levels<keys, 2>(rows, count, centre, step, unit, d, d32, out, out_stride);
  if (levels == 3) decode_levels<keys, 3>(rows, count, centre, step, unit, d, d32, out, out_stride);
  if (levels == 4) decode_levels<keys, 4>(rows, count, centre, step, unit, d, d32, out, out_stride);
}

constexpr PlaneKernels make_plane_table() {
  return {largest,
          {key_ranges<F32>, key_ranges<F16>, key_ranges<Bf16>},
          {value_ranges<F32>, value_ranges<F16>, value_ranges<Bf16>},
          choose_keys,
          choose_values,
          {code_keys<F32>, code_keys<F16>, code_keys<Bf16>},
          {code_values<F32>, code_values<F16>, code_values<Bf16>},
          turn_plane,
          decode_rows<true>,
          decode_rows<false>};
}

}  // namespace
}  // namespace tamis::kernels
