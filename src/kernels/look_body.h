// The first look at a block, over the vector operations of body.h: queries are folded with the
// block's steps, multiplied with the codes of its keys, and the dot products turned into weights.
//
// Cost: `dots_of_plane` and `dots_of_planes` do rows·128·d 16-bit multiply-adds and read 64·d and
// 128·d bytes; the others are smaller.

#include "kernels/plane_fetch.h"

namespace tamis::kernels {
namespace {

/// 2^x, with x clamped to ±126, to a relative error of 2.8·10⁻⁶ (degree 4, minimax on |f| ≤ ½). It
/// serves for the weights of all keys, whose bounds include this error.
TAMIS_INLINE V exp2_short(V x) {
  const V y = max(set1(-126.0F), min(x, set1(126.0F)));
  const V n = round_nearest(y);
  const V f = sub(y, n);
  V g = set1(0x1.3997d4p-7F);
  g = fma(g, f, set1(0x1.ca1440p-5F));
  g = fma(g, f, set1(0x1.ec06dap-3F));
  g = fma(g, f, set1(0x1.62e0dcp-1F));
  g = fma(g, f, set1(0x1.ffffe8p-1F));
  return times_power_of_two(g, n);
}

/// The scratch memory of `fold` begins with the products of this many rows, followed by the centres
/// and the steps.
constexpr int folded_rows = fold_scratch - 2;
static_assert(folded_rows == 4);

template <int R>
TAMIS_INLINE void fold_rows(const float* q, std::int64_t q_stride, const float* centres,
                            const float* steps, std::int64_t d32, float* x, std::int16_t* xi,
                            Folded* folded) {
  V both[8], most[R];  // q·centre of four rows, then their ‖x‖²
  for (int i = 0; i < 8; ++i) both[i] = zero();
  for (int r = 0; r < R; ++r) most[r] = zero();
  for (std::int64_t c = 0; c < d32; c += W) {
    const V step = load(steps + c);
    const V centre = load(centres + c);
    for (int r = 0; r < R; ++r) {
      const V query = load(q + r * q_stride + c);
      const V y = mul(query, step);
      both[r] = fma(query, centre, both[r]);
      both[4 + r] = fma(y, y, both[4 + r]);
      most[r] = max(most[r], max(y, sub(zero(), y)));
      store(x + r * d32 + c, y);
    }
  }
  float sums[8], grid[R];
  reduce8(both, sums);
  I total[4];
  for (int r = 0; r < 4; ++r) total[r] = zero_integers();
  for (int r = 0; r < R; ++r) {
    const float largest = reduce_max(most[r]);
    // A query that is below 2^-100 moves no logit noticeably, so any normal number will do as step.
    grid[r] = (largest > 0x1p-100F ? largest : 0x1p-100F) / float{largest_folded};
    const V inverse = set1(1.0F / grid[r]);
    for (std::int64_t c = 0; c < d32; c += W) {
      // 1/grid is rounded, so the product may exceed largest_folded by .01; it still rounds to it.
      const I i = to_integers(mul(load(x + r * d32 + c), inverse));
      store_shorts(xi + r * d32 + c, i);
      total[r] = add_integers(total[r], i);
    }
  }
  std::int32_t sum[4];
  reduce4_integers(total, sum);
  for (int r = 0; r < R; ++r) folded[r] = {sums[r], grid[r], sums[4 + r], sum[r]};
}

void fold(const float* q, std::int64_t q_stride, int rows, const std::uint16_t* centre,
          const std::uint16_t* step, float unit, std::int64_t d32, float* x, std::int16_t* xi,
          Folded* folded) {
  float* centres = x + folded_rows * d32;
  float* steps = centres + d32;
  for (std::int64_t c = 0; c < d32; c += W) {
    store(centres + c, mul(F16::load(centre + c), set1(unit)));  // exact: unit is a power of 2
    store(steps + c, mul(F16::load(step + c), set1(unit)));
  }
  for (; rows >= 4; rows -= 4, q += 4 * q_stride, xi += 4 * d32, folded += 4)
    fold_rows<4>(q, q_stride, centres, steps, d32, x, xi, folded);
  if (rows == 3) fold_rows<3>(q, q_stride, centres, steps, d32, x, xi, folded);
  if (rows == 2) fold_rows<2>(q, q_stride, centres, steps, d32, x, xi, folded);
  if (rows == 1) fold_rows<1>(q, q_stride, centres, steps, d32, x, xi, folded);
}

constexpr int scan_vectors = 2;  // vectors of keys whose sums are kept at once
constexpr int most_groups = 1024 / 8;
constexpr int scan_lines = 4 * scan_vectors * W >= 64 ? 4 * scan_vectors * W / 64 : 1;
using ScanFetch = PlaneFetch<scan_lines>;

/// The low planes of some keys, transposed so that keys run along lanes.
struct TurnedKeys {
  I group[most_groups][scan_vectors];
};
TAMIS_INLINE void turn_keys(const std::uint8_t* low, std::int64_t d32, TurnedKeys& turned) {
  for (int n = 0; n < scan_vectors; ++n)
    for (std::int64_t t = 0; t < d32 / 32; ++t) {
      I four[4];
      turn_chunks(low + n * W * (d32 / 2), d32 / 2, 16 * t, four);
      for (int g = 0; g < 4; ++g) turned.group[4 * t + g][n] = four[g];
    }
}

/// Adds the exact sums of some channels to dot(r, j) of scan_vectors vectors of keys. The sums of
/// the first channels (`first`) start it.
template <int R>
TAMIS_INLINE void add_dots(const I (&sum)[R][scan_vectors], bool first, float* dot) {
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < scan_vectors; ++n) {
      float* at = dot + r * page_tokens + n * W;
      const V x = to_floats(sum[r][n]);
      store(at, first ? x : add(load(at), x));
    }
}

/// Computes dot(r, j) of all keys of a block, as floats.
template <int R, bool both>
TAMIS_INLINE void dots_of(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                          const std::int16_t* xi, float* dot, ScanFetch& fetch_high,
                          ScanFetch& fetch_low) {
  constexpr int N = scan_vectors;
  TurnedKeys turned;
  for (int key = 0; key < page_tokens; key += N * W) {
    const std::uint8_t* at[N];
    for (int n = 0; n < N; ++n) {
      const int first = key + n * W;
      at[n] = high + first / tile_keys * (d32 * 8) + first % tile_keys * 4;
    }
    if constexpr (both) turn_keys(low + key * (d32 / 2), d32, turned);
    for (std::int64_t from = 0; from < d32; from += channels_summed) {
      I sum[R][N];
      for (int r = 0; r < R; ++r)
        for (int n = 0; n < N; ++n) sum[r][n] = zero_integers();
      const std::int64_t end = d32 < from + channels_summed ? d32 : from + channels_summed;
      for (std::int64_t group = from / 8; group < end / 8; ++group) {
        if (W > 1) {
          fetch_high();
          if constexpr (both) fetch_low();
        }
        const std::int16_t* query = xi + group / 4 * 32 + group % 4 * 4;
        // A part of the codes at a time leaves registers for the sums.
        for (int part = 0; part < 4; ++part) {
          I codes[N];
          for (int n = 0; n < N; ++n) {
            const I x = load_group(at[n] + group * 4 * tile_keys);
            if constexpr (both) {
              const I bytes = part % 2 == 0 ? merge_low(x, turned.group[group][n])
                                            : merge_high(x, turned.group[group][n]);
              codes[n] = in_register(part < 2 ? even_bytes(bytes) : odd_bytes(bytes));
            } else {
              codes[n] = in_register(nibbles(x, part));
            }
          }
          for (int r = 0; r < R; ++r) {
            const I q = in_register(broadcast_pair(query + r * d32 + part % 2 * 16 + part / 2 * 2));
            for (int n = 0; n < N; ++n)
              sum[r][n] = in_register(multiply_add(sum[r][n], codes[n], q));
          }
        }
      }
      add_dots<R>(sum, from == 0, dot + key);
    }
  }
}

template <bool both>
TAMIS_INLINE void dots(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                       const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                       const std::uint8_t* next_low) {
  for_rows<scan_lines>(
      high, low, d32, xi, rows, dot, next_high, next_low,
      [=]<int R>(const std::int16_t* x, float* to, auto& fetch_high, auto& fetch_low) {
        dots_of<R, both>(high, low, d32, x, to, fetch_high, fetch_low);
      });
}

void dots_of_plane(const std::uint8_t* high, std::int64_t d32, const std::int16_t* xi, int rows,
                   float* dot, const std::uint8_t* next_high) {
  dots<false>(high, high, d32, xi, rows, dot, next_high, high);
}

void dots_of_planes(const std::uint8_t* high, const std::uint8_t* low, std::int64_t d32,
                    const std::int16_t* xi, int rows, float* dot, const std::uint8_t* next_high,
                    const std::uint8_t* next_low) {
  dots<true>(high, low, d32, xi, rows, dot, next_high, next_low);
}

/// This is a function of its own so that the constants of a row stay in registers.
void weigh_row(const ScanRow& row, float* weight, float* sum, float* most) {
  const V step = set1(row.step);
  const V shift = set1(row.shift);
  V total = zero();
  V largest = zero();
  for (int j = 0; j < page_tokens; j += W) {
    const V w = exp2_short(fma(load(weight + j), step, shift));
    store(weight + j, w);
    total = add(total, w);
    largest = max(largest, w);
  }
  *sum = reduce_add(total);
  *most = reduce_max(largest);
}

void weigh_keys(int rows, const ScanRow* row, float* weight, float* sums, float* most) {
  for (int r = 0; r < rows; ++r) weigh_row(row[r], weight + r * page_tokens, sums + r, most + r);
}

}  // namespace
}  // namespace tamis::kernels
