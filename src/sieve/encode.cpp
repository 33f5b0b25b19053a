// Codes, residual norms and value data of one block. Every norm that is stored is rounded up; the constants
// are derived in docs/certificates.md, section "What the index stores".
#include "sieve/encode.h"

#include <algorithm>
#include <cmath>

#include <tamis/attention.h>

#include "core/fail.h"

namespace tamis {
namespace {

constexpr double u = 0x1p-24;  // unit roundoff of f32

/// Keys and values beyond it are pinned: no sum of squares of the rest can overflow.
constexpr float largest_coded = 0x1p55F;

struct Arrays {
  float* k;                                    // 128 × d32
  float* v;                                    // 128 × value_d32
  float *low, *high, *centre, *inverse;        // d32 each
  float* centroid;                             // value_d32
  float *coarse, *middle, *weight, *residual;  // 128 each
  std::uint8_t* codes;                         // 128 × d32
};

Arrays arrays_in(const Layout& layout, float* at) {
  Arrays a{};
  const auto take = [&](std::int64_t floats) {
    float* here = at;
    at += floats;
    return here;
  };
  a.k = take(block_keys * layout.d32);
  a.v = take(block_keys * layout.value_d32);
  a.low = take(layout.d32);
  a.high = take(layout.d32);
  a.centre = take(layout.d32);
  a.inverse = take(layout.d32);
  a.centroid = take(layout.value_d32);
  a.coarse = take(block_keys);
  a.middle = take(block_keys);
  a.weight = take(block_keys);
  a.residual = take(block_keys);
  a.codes = reinterpret_cast<std::uint8_t*>(take(block_keys * layout.d32 / 4));
  return a;
}

void widen_rows(const Kernels& kernels, DType dtype, const void* from, std::int64_t stride,
                std::int64_t dim, std::int64_t padded, float* to) {
  const int type = dtype == DType::f32 ? kv_f32 : dtype == DType::f16 ? kv_f16 : kv_bf16;
  const auto* bytes = static_cast<const std::byte*>(from);
  for (std::int64_t j = 0; j < block_keys; ++j) {
    kernels.widen[type](bytes + j * stride * size_of(dtype), to + j * padded, dim);
    std::fill(to + j * padded + dim, to + (j + 1) * padded, 0.0F);
  }
}

/// The slow look after something was found: throws at the first NaN or infinity, else marks the rows that
/// are too large to be coded.
void pin_large_rows(const BlockSource& source, const float* rows, std::int64_t dim, std::int64_t padded,
                    const char* what, std::uint8_t* norms) {
  for (std::int64_t j = 0; j < block_keys; ++j)
    for (std::int64_t c = 0; c < dim; ++c) {
      const float x = rows[j * padded + c];
      if (!std::isfinite(x))
        fail(Code::input, "the {} of token {} of KV head {} has {} in channel {}: it must be finite", what,
             source.first_token + j, source.head, x, c);
      if (std::abs(x) > largest_coded) norms[j] = pinned_code;
    }
}

float largest_key_norm(const Kernels& kernels, const Layout& layout, const float* k) {
  double norm = std::sqrt(static_cast<double>(
      kernels.sieve.largest_norm2(k, layout.d32, static_cast<int>(block_keys), layout.d)));
  if (!(norm < 0x1p60 && norm > 0x1p-60)) {  // the f32 sum of squares left its range
    norm = 0;
    for (std::int64_t j = 0; j < block_keys; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < layout.d; ++c)
        sum += static_cast<double>(k[j * layout.d32 + c]) * k[j * layout.d32 + c];
      norm = std::max(norm, std::sqrt(sum));
    }
  }
  return static_cast<float>(norm * (1 + static_cast<double>(layout.d + 8) * u) * (1 + 0x1p-22));
}

/// Pinned keys are never coded: a row that is not pinned, or zeros, stands in so that they widen no range.
void replace_pinned(const Layout& layout, const std::uint8_t* norms, float* k) {
  const float* other = nullptr;
  for (std::int64_t j = 0; j < block_keys && other == nullptr; ++j)
    if (norms[j] != pinned_code) other = k + j * layout.d32;
  for (std::int64_t j = 0; j < block_keys; ++j) {
    if (norms[j] != pinned_code) continue;
    float* row = k + j * layout.d32;
    if (other != nullptr) {
      std::copy(other, other + layout.d32, row);
    } else {
      std::fill(row, row + layout.d32, 0.0F);
    }
  }
}

std::uint16_t f16_at_least(float x) {
  const f16 nearest = to_f16(x);
  return to_float(nearest) < x ? static_cast<std::uint16_t>(nearest.bits + 1) : nearest.bits;
}

/// bf16 towards −inf (up = false) or +inf.
bf16 bf16_towards(float x, bool up) {
  bf16 y = to_bf16(x);
  const float rounded = to_float(y);
  if (up ? rounded < x : rounded > x) {
    // One step up in value is one step up in bits for positive numbers, one step down for negative.
    const bool away = up == (rounded >= 0.0F);
    if (rounded == 0.0F) return {static_cast<std::uint16_t>(up ? 0x0001 : 0x8001)};
    y.bits = static_cast<std::uint16_t>(away ? y.bits + 1 : y.bits - 1);
  }
  return y;
}

/// ⌈x / unit⌉ as a code up to 254, or pinned_code.
std::uint8_t code_above(double x, double unit) {
  const double code = std::ceil(x / unit * (1 + 0x1p-40));
  return code <= 254 ? static_cast<std::uint8_t>(code) : pinned_code;
}

/// Centre and step of every channel; centre ± 8·step covers the block.
void choose_steps(const Layout& layout, const Arrays& a, CoarseBlock<std::byte> coarse) {
  BlockHead& head = coarse.head();
  float largest = 0.0F;
  for (std::int64_t c = 0; c < layout.d; ++c)
    largest = std::max({largest, std::abs(a.low[c]), std::abs(a.high[c])});
  // The largest number becomes 2^14 … 2^15 in f16; smaller channels keep 11 bits over 28 octaves.
  const int exponent = largest > 0.0F ? std::ilogb(largest) - 14 : -100;
  head.unit = std::ldexp(1.0F, std::clamp(exponent, -100, 100));
  const float per_unit = 1.0F / head.unit;
  double norm2 = 0;
  for (std::int64_t c = 0; c < layout.d; ++c) {
    const f16 centre16 = to_f16((0.5F * a.low[c] + 0.5F * a.high[c]) * per_unit);
    const float centre = to_float(centre16) * head.unit;
    const float reach = std::max(a.high[c] - centre, centre - a.low[c]);
    const std::uint16_t step16 =
        f16_at_least(std::max(reach * per_unit * (0.125F * (1 + 0x1p-20F)), 0x1p-14F));
    coarse.centre()[c] = centre16.bits;
    coarse.step()[c] = step16;
    a.centre[c] = centre;
    a.inverse[c] = 1.0F / (to_float(f16{step16}) * head.unit);
    norm2 += static_cast<double>(centre) * centre;
  }
  for (std::int64_t c = layout.d; c < layout.d32; ++c) {
    coarse.centre()[c] = coarse.step()[c] = 0;
    a.centre[c] = a.inverse[c] = 0.0F;
  }
  head.centre_norm = static_cast<float>(std::sqrt(norm2) * (1 + 0x1p-22));
}

void encode_block_keys(const Kernels& kernels, const Layout& layout, const Arrays& a,
                       CoarseBlock<std::byte> coarse, MiddleBlock<std::byte> middle) {
  choose_steps(layout, a, coarse);
  kernels.sieve.encode_keys(a.k, layout.d, layout.d32, a.centre, a.inverse, a.codes, coarse.high(),
                            middle.low(), layout.stride, a.coarse, a.middle);
  // Σ r² errs by (d32 + 8)·u of a sum of at most d32 terms ≤ 0.26, or 0.26/256; each r by 25·u.
  const auto d32 = static_cast<double>(layout.d32);
  const double sum_error = (d32 + 8) * u * 0.26 * d32;
  const double slack = 25 * u * std::sqrt(static_cast<double>(layout.d));
  BlockHead& head = coarse.head();
  std::uint8_t* norms = coarse.norms();
  for (std::int64_t j = 0; j < block_keys; ++j) {
    if (norms[j] != pinned_code) {
      const double coarse_norm = std::sqrt(std::max(0.0, a.coarse[j] + sum_error)) + slack;
      const double middle_norm = std::sqrt(std::max(0.0, a.middle[j] + sum_error / 256)) + slack;
      const std::uint8_t code = code_above(middle_norm, layout.middle_unit);
      norms[j] = code == pinned_code ? code : code_above(coarse_norm, layout.coarse_unit);
      middle.norms()[j] = code;
    }
    if (norms[j] == pinned_code) {
      middle.norms()[j] = 0;
      ++head.pinned;
    } else {
      head.coarse_most = std::max(head.coarse_most, norms[j]);
      head.middle_most = std::max(head.middle_most, middle.norms()[j]);
    }
  }
}

void encode_block_values(const Kernels& kernels, const Layout& layout, const Arrays& a,
                         CoarseBlock<std::byte> coarse, MiddleBlock<std::byte> middle) {
  BlockHead& head = coarse.head();
  const std::uint8_t* norms = coarse.norms();
  const auto coded = static_cast<float>(block_keys - head.pinned);
  for (std::int64_t j = 0; j < block_keys; ++j) a.weight[j] = norms[j] == pinned_code ? 0.0F : 1.0F / coded;
  kernels.sieve.weighted_sum(a.v, layout.value_d32, a.weight, a.centroid);
  for (std::int64_t c = 0; c < layout.value_d32; ++c) {
    const bf16 rounded = to_bf16(a.centroid[c]);
    coarse.centroid()[c] = rounded;
    a.centroid[c] = to_float(rounded);
  }
  const auto d = static_cast<double>(layout.value_d);
  const double relative = 1 + (d + 8) * u;  // of a sum of d squares; of its root, twice what is needed
  const double root_d = std::sqrt(d);
  double radius = 0;
  double value_norm = 0;
  double most = 0;
  for (std::int64_t j = 0; j < block_keys; ++j) {
    const float* v = a.v + j * layout.value_d32;
    a.residual[j] = 0.0F;
    if (norms[j] == pinned_code) {
      double sum = 0;
      for (std::int64_t c = 0; c < layout.value_d; ++c) sum += static_cast<double>(v[c]) * v[c];
      value_norm = std::max(value_norm, std::sqrt(sum) * relative);
      if (layout.values) {  // never used, and never left to chance: equal blocks have equal bytes
        middle.value_low()[j] = middle.value_step()[j] = {};
        std::fill_n(middle.value_codes() + j * layout.stride, layout.value_d32 / 2, std::uint8_t{0});
      }
      continue;
    }
    float low, high, norm2, distance2;
    kernels.sieve.value_range(v, layout.value_d, a.centroid, &low, &high, &norm2, &distance2);
    const double span = std::max(std::abs(low), std::abs(high));
    value_norm = std::max(value_norm, std::sqrt(norm2) * relative + 0x1p-70);
    radius = std::max(radius, std::sqrt(distance2) * relative + root_d * u * span + 0x1p-70);
    if (!layout.values) continue;
    const bf16 low16 = bf16_towards(low, false);
    const float lowest = to_float(low16);
    const bf16 step16 = bf16_towards(std::max((high - lowest) * ((1 + 0x1p-20F) / 15), 0x1p-100F), true);
    const float step = to_float(step16);
    const float sum =
        kernels.sieve.encode_value(v, layout.value_d, layout.value_d32, a.centroid, lowest, step,
                                   1.0F / step, middle.value_codes() + j * layout.stride);
    middle.value_low()[j] = low16;
    middle.value_step()[j] = step16;
    a.residual[j] = static_cast<float>(
        (std::sqrt(sum) * relative + root_d * u * 1.01 * (span + 64 * step) + 0x1p-70) * (1 + 0x1p-22));
    most = std::max(most, static_cast<double>(a.residual[j]));
  }
  head.radius = static_cast<float>(radius * (1 + 0x1p-22));
  head.value_norm = static_cast<float>(value_norm * (1 + 0x1p-22));
  if (!layout.values) return;
  head.residual_unit = static_cast<float>(std::max(most / 254, 0x1p-100) * (1 + 0x1p-22));
  for (std::int64_t j = 0; j < block_keys; ++j)
    middle.value_norms()[j] = code_above(static_cast<double>(a.residual[j]), head.residual_unit);
}

}  // namespace

std::int64_t encode_scratch(const Layout& layout) {
  return block_keys * (layout.d32 + layout.value_d32) + 4 * layout.d32 + layout.value_d32 + 4 * block_keys +
         block_keys * layout.d32 / 4;
}

void encode_block(const Kernels& kernels, const Layout& layout, const BlockSource& source, float* scratch,
                  CoarseBlock<std::byte> coarse, MiddleBlock<std::byte> middle) {
  const Arrays a = arrays_in(layout, scratch);
  widen_rows(kernels, source.dtype, source.k, source.k_stride, layout.d, layout.d32, a.k);
  widen_rows(kernels, source.dtype, source.v, source.v_stride, layout.value_d, layout.value_d32, a.v);
  coarse.head() = {};
  std::uint8_t* norms = coarse.norms();
  std::fill(norms, norms + block_keys, std::uint8_t{0});
  std::fill(norms, norms + std::min(source.pinned, block_keys), pinned_code);

  // Written so that NaN takes the slow look too.
  if (!(kernels.sieve.largest(a.k, block_keys * layout.d32) <= largest_coded))
    pin_large_rows(source, a.k, layout.d, layout.d32, "key", norms);
  if (!(kernels.sieve.largest(a.v, block_keys * layout.value_d32) <= largest_coded))
    pin_large_rows(source, a.v, layout.value_d, layout.value_d32, "value", norms);
  coarse.head().key_norm = largest_key_norm(kernels, layout, a.k);
  replace_pinned(layout, norms, a.k);
  kernels.sieve.channel_range(a.k, layout.d32, a.low, a.high);
  encode_block_keys(kernels, layout, a, coarse, middle);
  encode_block_values(kernels, layout, a, coarse, middle);
}

}  // namespace tamis
