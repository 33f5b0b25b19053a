// The kernels that build the index of a block, over the vocabulary of body.h. Every row is read straight
// from K or V, twice for keys and three times for values, while it lies in the first cache.
//
// Cost: about 20 vector operations per W elements of a key and as many of a value.

namespace tamis {
namespace {

constexpr int row_group = 8;  // rows whose sums over lanes are taken together

template <class Type>
TAMIS_INLINE const typename Type::Element* row_of(const void* rows, std::int64_t stride, int j) {
  return static_cast<const typename Type::Element*>(rows) + j * stride;
}

TAMIS_INLINE void fetch_row(const RowsAhead& ahead, int j) {
  const auto* row = static_cast<const char*>(ahead.at) + j * ahead.stride;
  for (std::int64_t line = 0; line < ahead.bytes; line += 64) __builtin_prefetch(row + line, 0, 2);
}

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

template <class Type>
void summarise_keys(const void* k, std::int64_t stride, std::int64_t d32, float* low, float* high,
                    float* squares) {
  for (std::int64_t c = 0; c < d32; c += W) {
    const V first = Type::load(row_of<Type>(k, stride, 0) + c);
    store(low + c, first);
    store(high + c, first);
  }
  for (int j = 0; j < page_keys; j += row_group) {
    V sum[row_group];
    for (int i = 0; i < row_group; ++i) sum[i] = zero();
    for (std::int64_t c = 0; c < d32; c += W) {
      V least = load(low + c);
      V most = load(high + c);
      for (int i = 0; i < row_group; ++i) {
        const V x = Type::load(row_of<Type>(k, stride, j + i) + c);
        least = min(least, x);
        most = max(most, x);
        sum[i] = fma(x, x, sum[i]);
      }
      store(low + c, least);
      store(high + c, most);
    }
    reduce8(sum, squares + j);
  }
}

template <class Type>
void summarise_values(const void* v, std::int64_t stride, std::int64_t d32, const float* weight,
                      float* centroid, float* squares) {
  for (std::int64_t c = 0; c < d32; c += W) store(centroid + c, zero());
  for (int j = 0; j < page_keys; j += row_group) {
    V sum[row_group];
    for (int i = 0; i < row_group; ++i) sum[i] = zero();
    for (std::int64_t c = 0; c < d32; c += W) {
      V mean = load(centroid + c);
      for (int i = 0; i < row_group; ++i) {
        const V x = Type::load(row_of<Type>(v, stride, j + i) + c);
        mean = fma(x, set1(weight[j + i]), mean);
        sum[i] = fma(x, x, sum[i]);
      }
      store(centroid + c, mean);
    }
    reduce8(sum, squares + j);
  }
}

float choose_steps(const float* low, const float* high, float unit, std::int64_t d, std::int64_t d32,
                   std::uint16_t* centre16, std::uint16_t* step16, float* centre, float* inverse) {
  const V per_unit = set1(1.0F / unit);  // exact, as every product with unit or per_unit: powers of 2
  V squares = zero();
  for (std::int64_t c = 0; c < d32; c += W) {
    const V l = load(low + c);
    const V h = load(high + c);
    F16::store_nearest(centre16 + c, mul(fma(l, set1(0.5F), mul(h, set1(0.5F))), per_unit));
    const V in_units = F16::load(centre16 + c);
    const V middle = mul(in_units, set1(unit));
    const V reach = max(sub(h, middle), sub(middle, l));
    const V step =
        max(mul(mul(reach, per_unit), set1(0.125F * (1 + 0x1p-20F))), set1(0x1p-14F));  // of a key's 16
    F16::store_above(step16 + c, step);
    squares = fma(in_units, in_units, squares);
    store(centre + c, middle);
    store(inverse + c, div(set1(16.0F), mul(F16::load(step16 + c), set1(unit))));
  }
  for (std::int64_t c = d; c < d32; ++c) {
    centre16[c] = step16[c] = 0;
    centre[c] = inverse[c] = 0.0F;
  }
  return reduce_add(squares);
}

/// One key: its nibbles in the order of a low plane, and in *sum4 and *sum8 the squares of 16·r for both
/// meshes, lane by lane.
template <class Type>
TAMIS_INLINE void encode_key(const typename Type::Element* k, std::int64_t d32, const float* centre,
                             const float* inverse, std::uint8_t* high, std::uint8_t* low, V* sum4,
                             V* sum8) {
  V s4 = zero();
  V s8 = zero();
  for (std::int64_t c = 0; c < d32; c += 32) {
    I code[32 / W];
    for (int i = 0; i < 32 / W; ++i) {
      const std::int64_t at = c + i * W;
      // The nearest integer to 16·y + 127.5 is floor(16·y + 128) in 0 … 255: |y| < 8 with room to spare.
      const V t = fma(sub(Type::load(k + at), load(centre + at)), load(inverse + at), set1(127.5F));
      code[i] = to_integers(t);
      const V r8 = sub(t, to_floats(code[i]));
      const V r4 = add(r8, sub(to_floats(low_four_bits(code[i])), set1(7.5F)));
      s8 = fma(r8, r8, s8);
      s4 = fma(r4, r4, s4);
    }
    store_planes(code, low + c / 2, high + c / 2);
  }
  *sum4 = s4;
  *sum8 = s8;
}

template <class Type>
void encode_keys(const void* k, std::int64_t stride, std::int64_t d32, const float* centre,
                 const float* inverse, std::uint8_t* codes, std::uint8_t* high, std::uint8_t* low,
                 float* coarse, float* middle, const RowsAhead& ahead) {
  for (int tile = 0; tile < page_keys; tile += tile_keys, high += tile_keys * d32 / 2) {
    for (int j = tile; j < tile + tile_keys; j += row_group) {
      V sum4[row_group], sum8[row_group];
      for (int i = 0; i < row_group; ++i) {
        fetch_row(ahead, j + i);
        encode_key<Type>(row_of<Type>(k, stride, j + i), d32, centre, inverse,
                         codes + (j + i - tile) * (d32 / 2), low + (j + i) * (d32 / 2), &sum4[i], &sum8[i]);
      }
      reduce8(sum4, coarse + j);
      reduce8(sum8, middle + j);
    }
    for (int first = 0; first < tile_keys; first += W)
      for (std::int64_t t = 0; t < d32 / 32; ++t) {
        I four[4];
        turn_chunks(codes + first * (d32 / 2), d32 / 2, 16 * t, four);
        for (int g = 0; g < 4; ++g) store_group(high + (4 * t + g) * 4 * tile_keys + 4 * first, four[g]);
      }
  }
}

template <class Type>
void value_ranges(const void* v, std::int64_t stride, std::int64_t d, const float* centroid, float* low,
                  float* high, float* squares) {
  const std::int64_t whole = d / W * W;
  for (int j = 0; j < page_keys; j += row_group) {
    V negated[row_group], most[row_group], sum[row_group];
    for (int i = 0; i < row_group; ++i) {
      const auto* row = row_of<Type>(v, stride, j + i);
      V smallest = set1(__builtin_inff());
      V biggest = set1(-__builtin_inff());
      V total = zero();
      for (std::int64_t c = 0; c < whole; c += W) {
        const V y = sub(Type::load(row + c), load(centroid + c));
        smallest = min(smallest, y);
        biggest = max(biggest, y);
        total = fma(y, y, total);
      }
      negated[i] = sub(zero(), smallest);
      most[i] = biggest;
      sum[i] = total;
    }
    reduce8_max(negated, low + j);
    reduce8_max(most, high + j);
    reduce8(sum, squares + j);
    for (int i = j; i < j + row_group; ++i) {
      low[i] = -low[i];
      if (whole == d) continue;
      float last[W];
      const int left = static_cast<int>(d - whole);
      store(last, sub(Type::load_first(row_of<Type>(v, stride, i) + whole, left), load(centroid + whole)));
      for (int c = 0; c < left; ++c) {
        low[i] = last[c] < low[i] ? last[c] : low[i];
        high[i] = last[c] > high[i] ? last[c] : high[i];
        squares[i] += last[c] * last[c];
      }
    }
  }
}

void choose_value_steps(const float* low, const float* high, float slack, std::uint16_t* low16,
                        std::uint16_t* step16, float* lowest, float* step, float* inverse, float* error) {
  for (int j = 0; j < page_keys; j += W) {
    const V l = load(low + j);
    const V h = load(high + j);
    const V below = select_less(l, zero(), bf16_away(l), bf16_towards_zero(l));
    const V wide = bf16_away(max(mul(sub(h, below), set1((1 + 0x1p-20F) / 15)), set1(0x1p-100F)));
    const V span = max(h, sub(zero(), l));  // the larger of |low| and |high|
    store_bf16(low16 + j, below);
    store_bf16(step16 + j, wide);
    store(lowest + j, below);
    store(step + j, wide);
    store(inverse + j, div(set1(1.0F), wide));
    store(error + j, mul(fma(wide, set1(64.0F), span), set1(slack)));
  }
}

template <class Type>
void encode_values(const void* v, std::int64_t stride, std::int64_t d, std::int64_t d32,
                   const float* centroid, const float* lowest, const float* step, const float* inverse,
                   std::uint8_t* codes, std::int64_t codes_stride, float* squares, const RowsAhead& ahead) {
  for (int j = 0; j < page_keys; j += row_group) {
    V sum[row_group];
    for (int i = 0; i < row_group; ++i) {
      const auto* row = row_of<Type>(v, stride, j + i);
      fetch_row(ahead, j + i);
      const V low = set1(lowest[j + i]);
      const V minus_step = set1(-step[j + i]);
      const V per_step = set1(inverse[j + i]);
      V total = zero();
      for (std::int64_t c = 0; c < d32; c += 32) {
        I code[32 / W];
        for (int n = 0; n < 32 / W; ++n) {
          const std::int64_t at = c + n * W;
          V y = sub(sub(Type::load(row + at), load(centroid + at)), low);
          if (d - at < W) y = first_lanes(y, static_cast<int>(d > at ? d - at : 0));
          code[n] = to_integers(mul(y, per_step));  // 0 … 15: step·15 covers the range with room to spare
          const V r = fma(to_floats(code[n]), minus_step, y);
          total = fma(r, r, total);
        }
        store_chunk(codes + (j + i) * codes_stride + c / 2, code);
      }
      sum[i] = total;
    }
    reduce8(sum, squares + j);
  }
}

void roots_above(float* x, float added, float factor, const float* error, float shift) {
  for (int j = 0; j < page_keys; j += W) {
    const V root = sqrt(max(zero(), add(load(x + j), set1(added))));
    store(x + j,
          fma(root, set1(factor), error == nullptr ? set1(shift) : add(load(error + j), set1(shift))));
  }
}

void codes_above(const float* x, float factor, std::uint8_t* codes) {
  for (int j = 0; j < page_keys; j += 32) {
    I code[32 / W];
    // The nearest integer to t + ½ is at least t; 2^-13 is for the rounding of t ≤ 512.
    for (int n = 0; n < 32 / W; ++n)
      code[n] =
          to_integers(min(fma(load(x + j + n * W), set1(factor), set1(0.5F + 0x1p-13F)), set1(255.0F)));
    store_codes(codes + j, code);
  }
}

}  // namespace
}  // namespace tamis
