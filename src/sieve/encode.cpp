// Codes, residual norms and value data of one block. Every norm that is stored is rounded up; the constants
// are derived in docs/certificates.md, section "What the index stores".
#include "sieve/encode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <tamis/attention.h>

#include "attention/dense.h"
#include "core/fail.h"

namespace tamis {
namespace {

constexpr double u = 0x1p-24;  // unit roundoff of f32

/// Keys and values beyond it are pinned: no sum of squares of the rest can overflow.
constexpr float largest_coded = 0x1p55F;

struct Arrays {
  float* k;                          // 128 × d32
  float* v;                          // 128 × value_d32
  float *low, *high;                 // d32 each, side by side
  float *centre, *inverse;           // d32 each
  float* centroid;                   // value_d32
  float *squares, *coarse, *middle;  // 128 each, and below
  float *weight, *value_low, *value_high;
  float *lowest, *step, *per_step, *error;
  std::uint8_t* codes;  // 16 × d32/2
};
constexpr int arrays_per_key = 10;

Arrays arrays_in(const Layout& layout, float* at) {
  Arrays a{};
  const auto take = [&](std::int64_t floats) {
    float* here = at;
    at += floats;
    return here;
  };
  a.k = take(block_keys * layout.d32);
  a.v = take(block_keys * layout.value_d32);
  for (float** each : {&a.low, &a.high, &a.centre, &a.inverse}) *each = take(layout.d32);
  a.centroid = take(layout.value_d32);
  for (float** each : {&a.squares, &a.coarse, &a.middle, &a.weight, &a.value_low, &a.value_high, &a.lowest,
                       &a.step, &a.per_step, &a.error})
    *each = take(block_keys);
  a.codes = reinterpret_cast<std::uint8_t*>(take(tile_keys * layout.d32 / 8));
  return a;
}

/// The 128 keys or values of a block as the kernels read them.
struct Rows {
  const void* at;
  std::int64_t stride;
  int type;
};

/// As stored if the kernels can read that, else widened and padded with zeros.
Rows rows_for(const Kernels& kernels, DType dtype, const void* from, std::int64_t stride, std::int64_t dim,
              std::int64_t padded, bool widened, float* scratch) {
  const int type = kv_type(dtype);
  if (dim == padded && !widened) return {from, stride, type};
  const auto* bytes = static_cast<const std::byte*>(from);
  for (std::int64_t j = 0; j < block_keys; ++j) {
    kernels.widen[type](bytes + j * stride * size_of(dtype), scratch + j * padded, dim);
    std::fill(scratch + j * padded + dim, scratch + (j + 1) * padded, 0.0F);
  }
  return {scratch, padded, kv_f32};
}

/// Which keys are pinned. Most blocks have none.
struct Pins {
  std::array<bool, block_keys> key{};
  int count = 0;

  void add(std::int64_t j) {
    bool& pinned = key[static_cast<std::size_t>(j)];
    if (!pinned) ++count;
    pinned = true;
  }
};

/// Throws at the first NaN or infinity, pins the rows that are too large to be coded.
void pin_large_rows(const BlockSource& source, const float* rows, std::int64_t dim, std::int64_t padded,
                    const char* what, Pins& pins) {
  for (std::int64_t j = 0; j < block_keys; ++j)
    for (std::int64_t c = 0; c < dim; ++c) {
      const float x = rows[j * padded + c];
      if (!std::isfinite(x))
        fail(Code::input, "the {} of token {} of KV head {} has {} in channel {}: it must be finite", what,
             source.first_token + j, source.head, x, c);
      if (std::abs(x) > largest_coded) pins.add(j);
    }
}

/// Pinned rows are never coded: a row that is not pinned, or zeros, stands in so that they widen no range.
/// Returns the largest norm of what was there.
double replace_pinned(const Pins& pins, std::int64_t dim, std::int64_t padded, float* rows) {
  const auto other = std::find(pins.key.begin(), pins.key.end(), false) - pins.key.begin();
  double norm = 0;
  for (std::int64_t j = 0; j < block_keys; ++j) {
    if (!pins.key[static_cast<std::size_t>(j)]) continue;
    float* row = rows + j * padded;
    double sum = 0;
    for (std::int64_t c = 0; c < dim; ++c) sum += static_cast<double>(row[c]) * row[c];
    norm = std::max(norm, std::sqrt(sum));
    if (other < block_keys) {
      std::copy_n(rows + other * padded, padded, row);
    } else {
      std::fill_n(row, padded, 0.0F);
    }
  }
  return norm;
}

/// Above the norm whose f32 sum of d squares this is. The sum errs by d·u of itself, and by what squares
/// below the smallest float lose: at most d·2^-149 ≤ 2^-139.
double norm_above(float squares, std::int64_t d) {
  return std::sqrt(static_cast<double>(squares)) * (1 + (static_cast<double>(d) + 16) * u) + 0x1p-69;
}

float rounded_up(double x) { return static_cast<float>(x * (1 + 0x1p-22)); }

/// What both halves of a block start from.
struct Block {
  const Kernels& kernels;
  const Layout& layout;
  Arrays a;
  Rows k;
  Rows v;
  Pins pins;
  CoarseBlock<std::byte> coarse;
  MiddleBlock<std::byte> middle;
};

void encode_block_keys(const Block& block, const RowsAhead& next_k) {
  const auto& [kernels, layout, a, k, v, pins, coarse, middle] = block;
  BlockHead& head = coarse.head();
  const float largest = kernels.sieve.largest(a.low, 2 * layout.d32);
  // The largest number becomes 2^14 … 2^15 in f16; smaller channels keep 11 bits over 28 octaves.
  const int exponent = largest > 0.0F ? std::ilogb(largest) - 14 : -100;
  head.unit = std::ldexp(1.0F, std::clamp(exponent, -100, 100));
  const float centre2 = kernels.sieve.choose_steps(a.low, a.high, head.unit, layout.d, layout.d32,
                                                   coarse.centre(), coarse.step(), a.centre, a.inverse);
  head.centre_norm = rounded_up(head.unit * norm_above(centre2, layout.d));

  kernels.sieve.encode_keys[k.type](k.at, k.stride, layout.d32, a.centre, a.inverse, a.codes, coarse.high(),
                                    middle.low(), a.coarse, a.middle, next_k);
  // In sixteenths of a step Σ r² errs by (d32 + 10)·u of at most d32 terms ≤ 64, or ¼. Each r errs by
  // 3·128·u for 16·(k − centre)/step, which is below 128, by 128·u for adding 127.5, and by 8·u for the
  // 4-bit code: below 33·u steps.
  const auto d32 = static_cast<double>(layout.d32);
  const auto missing = static_cast<double>(layout.d32 - layout.d);
  const double sum_error = (d32 + 10) * u * d32;
  const double slack = 33 * u * std::sqrt(static_cast<double>(layout.d));
  // Named once more: clang before 16 cannot capture a structured binding.
  const auto codes = [&, &kernels = kernels](float* squares, double term, double unit, std::uint8_t* out) {
    const double added = term * (sum_error - missing);
    kernels.sieve.roots_above(squares, static_cast<float>(added), (1 + 0x1p-20F) / 16, nullptr,
                              rounded_up(slack));
    kernels.sieve.codes_above(squares, rounded_up(1 / unit), out);
    return *std::max_element(out, out + block_keys);
  };
  head.coarse_most = codes(a.coarse, 64, layout.coarse_unit, coarse.norms());
  head.middle_most = codes(a.middle, 0.25, layout.middle_unit, middle.norms());
  if (pins.count == 0) return;
  head.pinned = static_cast<std::uint8_t>(pins.count);
  head.coarse_most = head.middle_most = 0;
  for (std::int64_t j = 0; j < block_keys; ++j) {
    if (pins.key[static_cast<std::size_t>(j)]) {
      coarse.norms()[j] = pinned_code;
      middle.norms()[j] = 0;
    } else {
      head.coarse_most = std::max(head.coarse_most, coarse.norms()[j]);
      head.middle_most = std::max(head.middle_most, middle.norms()[j]);
    }
  }
}

void encode_block_values(const Block& block, const RowsAhead& next_v) {
  const auto& [kernels, layout, a, k, v, pins, coarse, middle] = block;
  BlockHead& head = coarse.head();
  for (std::int64_t c = 0; c < layout.value_d32; ++c) {  // any bf16 near the mean will do
    const auto bits = (std::bit_cast<std::uint32_t>(a.centroid[c]) + 0x8000U) & 0xFFFF'0000U;
    coarse.centroid()[c] = {static_cast<std::uint16_t>(bits >> 16)};
    a.centroid[c] = std::bit_cast<float>(bits);
  }
  kernels.sieve.value_ranges[v.type](v.at, v.stride, layout.value_d, a.centroid, a.value_low, a.value_high,
                                     a.squares);
  // v − centroid errs by u of itself in every channel, which norm_above has room for.
  head.radius = rounded_up(norm_above(kernels.sieve.largest(a.squares, block_keys), layout.value_d));
  if (!layout.values) return;

  const auto d = static_cast<double>(layout.value_d);
  const double slack = 1.02 * u * std::sqrt(d);
  auto* low16 = reinterpret_cast<std::uint16_t*>(middle.value_low());
  auto* step16 = reinterpret_cast<std::uint16_t*>(middle.value_step());
  kernels.sieve.choose_value_steps(a.value_low, a.value_high, static_cast<float>(slack), low16, step16,
                                   a.lowest, a.step, a.per_step, a.error);
  kernels.sieve.encode_values[v.type](v.at, v.stride, layout.value_d, layout.value_d32, a.centroid,
                                      a.lowest, a.step, a.per_step, middle.value_codes(),
                                      layout.value_stride(), a.squares, next_v);
  // As norm_above, with the errors of each channel.
  kernels.sieve.roots_above(a.squares, 0.0F, static_cast<float>(1 + (d + 16) * u), a.error, 0x1p-69F);
  if (pins.count > 0) {  // never used, and never left to chance: equal blocks have equal bytes
    for (std::int64_t j = 0; j < block_keys; ++j) {
      if (!pins.key[static_cast<std::size_t>(j)]) continue;
      a.squares[j] = 0.0F;
      low16[j] = step16[j] = 0;
      std::fill_n(middle.value_codes() + j * layout.value_stride(), layout.value_stride(), std::uint8_t{0});
    }
  }
  // 253, not 255: codes_above may add 1, and rounds.
  head.residual_unit = rounded_up(std::max(kernels.sieve.largest(a.squares, block_keys) / 253.0, 0x1p-100));
  kernels.sieve.codes_above(a.squares, rounded_up(1.0 / head.residual_unit), middle.value_norms());
}

/// Ranges, norms and the mean. Returns whether every number may be coded.
bool summarise(const Block& block) {
  const auto& [kernels, layout, a, k, v, pins, coarse, middle] = block;
  const float weight = pins.count < block_keys ? 1.0F / static_cast<float>(block_keys - pins.count) : 0.0F;
  std::fill_n(a.weight, block_keys, weight);
  for (std::int64_t j = 0; pins.count > 0 && j < block_keys; ++j)
    if (pins.key[static_cast<std::size_t>(j)]) a.weight[j] = 0.0F;
  kernels.sieve.summarise_keys[k.type](k.at, k.stride, layout.d32, a.low, a.high, a.squares);
  const float key2 = kernels.sieve.largest(a.squares, block_keys);
  kernels.sieve.summarise_values[v.type](v.at, v.stride, layout.value_d32, a.weight, a.centroid, a.squares);
  const float value2 = kernels.sieve.largest(a.squares, block_keys);
  BlockHead& head = coarse.head();
  head.key_norm = rounded_up(norm_above(key2, layout.d));
  head.value_norm = rounded_up(norm_above(value2, layout.value_d));
  return key2 <= largest_coded * largest_coded && value2 <= largest_coded * largest_coded;  // NaN: no
}

}  // namespace

std::int64_t encode_scratch(const Layout& layout) {
  return block_keys * (layout.d32 + layout.value_d32) + 4 * layout.d32 + layout.value_d32 +
         arrays_per_key * block_keys + tile_keys * layout.d32 / 8;
}

void encode_block(const Kernels& kernels, const Layout& layout, const BlockSource& source, float* scratch,
                  CoarseBlock<std::byte> coarse, MiddleBlock<std::byte> middle) {
  const Arrays a = arrays_in(layout, scratch);
  Block block{kernels, layout, a, {}, {}, {}, coarse, middle};
  const auto read = [&](bool widened) {
    block.k =
        rows_for(kernels, source.dtype, source.k, source.k_stride, layout.d, layout.d32, widened, a.k);
    block.v = rows_for(kernels, source.dtype, source.v, source.v_stride, layout.value_d, layout.value_d32,
                       widened, a.v);
  };
  coarse.head() = {};
  read(false);
  if (source.pinned > 0 || !summarise(block)) {
    read(true);
    for (std::int64_t j = 0; j < std::min(source.pinned, block_keys); ++j) block.pins.add(j);
    pin_large_rows(source, a.k, layout.d, layout.d32, "key", block.pins);
    pin_large_rows(source, a.v, layout.value_d, layout.value_d32, "value", block.pins);
    const double key_norm = replace_pinned(block.pins, layout.d, layout.d32, a.k);
    const double value_norm = replace_pinned(block.pins, layout.value_d, layout.value_d32, a.v);
    summarise(block);
    BlockHead& head = coarse.head();
    head.key_norm = std::max(head.key_norm, rounded_up(key_norm));
    head.value_norm = std::max(head.value_norm, rounded_up(value_norm));
  }
  const std::int64_t size = size_of(source.dtype);
  encode_block_keys(
      block, {source.next_k, source.k_stride * size, source.next_k != nullptr ? layout.d * size : 0});
  encode_block_values(
      block, {source.next_v, source.v_stride * size, source.next_v != nullptr ? layout.value_d * size : 0});
}

}  // namespace tamis
