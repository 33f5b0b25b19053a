// Computes the codes of one KV head of a block and the bounds in its header, each of which is
// rounded up. The constants are derived in docs/certificates.md, section "What the cache stores".
#include "cache/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "attention/dense.h"
#include "attention/rounding.h"

namespace tamis::cache {
namespace {

constexpr double u = attention::unit_roundoff;

/// Returns a float that is at least x, also where floats are denormal.
float rounded_up(double x) { return static_cast<float>(x * (1 + 0x1p-22) + 0x1p-149); }

/// Named parts of the scratch memory, used for keys and then for values.
struct Scratch {
  float* rows;  // 128 × d32, used if rows must be widened
  // `low` holds the lowest number of each channel and right after them the highest ones, so that
  // one pass finds the largest magnitude.
  float *low, *sum;
  kernels::ChannelCodes channels;
  float* sums;          // (most_levels + 2) × 128
  std::uint8_t* first;  // plane 0 of keys as rows, before it is put into tiles
};

std::int64_t widest(const Layout& layout) { return std::max(layout.key_d32, layout.value_d32); }

Scratch scratch_in(const Layout& layout, float* at) {
  const std::int64_t d32 = widest(layout);
  const auto take = [&](std::int64_t floats) {
    float* here = at;
    at += floats;
    return here;
  };
  Scratch a{};
  a.rows = take(page_tokens * d32);
  a.low = take(2 * d32);
  a.sum = take(d32);
  a.channels = {take(d32), take(d32), take(d32), take(d32)};
  a.sums = take((most_levels + 2) * page_tokens);
  a.first = reinterpret_cast<std::uint8_t*>(take(page_tokens * d32 / 8));
  return a;
}

/// The tokens of a block that are not raw.
struct Tokens {
  std::array<std::uint8_t, page_tokens> token;
  int count = 0;
};

Tokens coded_tokens(const EncodeSource& source) {
  Tokens coded{};
  for (std::int32_t j = 0; j < source.tokens; ++j)
    if (!in_mask(source.raw, j))
      coded.token[static_cast<std::size_t>(coded.count++)] = static_cast<std::uint8_t>(j);
  return coded;
}

/// The keys or the values of a block as the kernels read them.
struct Side {
  kernels::TokenRows rows;
  int type;
};

/// Returns the rows as they are if d is a multiple of 32, and otherwise as floats
/// padded with zeros.
Side side_of(const kernels::Kernels& kernels, DType dtype, const void* from, std::int64_t stride,
             std::int64_t d, std::int64_t d32, const Tokens& coded, float* widened) {
  const int type = attention::kv_type(dtype);
  if (d == d32) return {{from, stride, coded.token.data(), coded.count}, type};
  const auto* bytes = static_cast<const std::byte*>(from);
  for (int i = 0; i < coded.count; ++i) {
    const std::int64_t j = coded.token[static_cast<std::size_t>(i)];
    kernels.widen[type](bytes + j * stride * size_of(dtype), widened + j * d32, d);
    std::fill(widened + j * d32 + d, widened + (j + 1) * d32, 0.0F);
  }
  return {{widened, d32, coded.token.data(), coded.count}, kernels::kv_f32};
}

/// The rows that will be read next, to be prefetched while others are encoded.
kernels::RowsAhead values_ahead(const Layout& layout, const EncodeSource& source) {
  const std::int64_t size = size_of(source.dtype);
  return {source.values, source.value_stride * size, layout.value_dim * size};
}
kernels::RowsAhead keys_ahead(const Layout& layout, const EncodeSource& source) {
  if (source.next_keys == nullptr) return {nullptr, 0, 0};
  const std::int64_t size = size_of(source.dtype);
  return {source.next_keys, source.key_stride * size, layout.key_dim * size};
}

/// Returns a power of 2 such that the largest of 2·d32 magnitudes is 2^14 … 2^15 units. Then
/// channels keep the 11 bits of f16 over 28 octaves, and no step vanishes.
float unit_for(const kernels::Kernels& kernels, const float* low, std::int64_t d32) {
  const float largest = kernels.planes.largest(low, 2 * d32);
  const int exponent = largest > 0.0F ? std::ilogb(largest) - 14 : -100;
  return std::ldexp(1.0F, std::clamp(exponent, -100, 100));
}

/// Upper bounds on norms from the kernels' sums of squares, in the units of these sums.
class Norms {
 public:
  Norms(const kernels::Kernels& kernels, const float* sums, std::int64_t d32)
      : kernels_(kernels), sums_(sums), rounding_(1 + (static_cast<double>(d32) / 16 + 20) * u) {}

  /// An upper bound, for all tokens, on the norms whose squares are row `which` of the sums. The
  /// padding channels add `extra` to each sum.
  [[nodiscard]] double most(int which, double extra = 0) const {
    return root(kernels_.planes.largest(sums_ + which * page_tokens, page_tokens), extra);
  }
  /// The same for one sum over channels.
  [[nodiscard]] double root(double sum, double extra = 0) const {
    return std::sqrt(std::max(0.0, sum * rounding_ - extra)) + 0x1p-69;
  }

 private:
  const kernels::Kernels& kernels_;
  const float* sums_;
  double rounding_;  ///< covers the rounding of the sums
};

/// e_l² of a padding channel, where T and the code are 0.
double padding_square(int levels, int level) {
  const double from_middle = (std::ldexp(1.0, 4 * (levels - 1 - level)) - 1) / 2;
  return from_middle * from_middle;
}

void encode_keys(const kernels::Kernels& kernels, const Layout& layout, int levels,
                 const EncodeSource& source, const Tokens& coded, const Scratch& a,
                 const HeadPages& pages, BlockHead& head) {
  const std::int64_t d = layout.key_dim;
  const std::int64_t d32 = layout.key_d32;
  const Side side =
      side_of(kernels, source.dtype, source.keys, source.key_stride, d, d32, coded, a.rows);
  float* high = a.low + d32;
  kernels.planes.key_ranges[side.type](side.rows, d32, a.low, high);
  head.key_unit = unit_for(kernels, a.low, d32);
  const kernels::ChannelSums channels = kernels.planes.choose_keys(
      a.low, high, head.key_unit, levels, d, d32,
      reinterpret_cast<std::uint16_t*>(pages.record + layout.key_centre),
      reinterpret_cast<std::uint16_t*>(pages.record + layout.key_step), a.channels);

  kernels::PlaneRows planes{{a.first, pages.key_plane[1], pages.key_plane[2], pages.key_plane[3]}};
  if (coded.count < page_tokens)
    for (int p = 0; p < levels; ++p) std::memset(planes.plane[p], 0, layout.key_plane_bytes);
  kernels.planes.code_keys[side.type](side.rows, d32, levels, a.channels, planes, a.sums,
                                      values_ahead(layout, source));
  kernels.planes.turn_plane(a.first, d32, pages.key_plane[0]);

  const Norms norms(kernels, a.sums, d32);
  const double padding = static_cast<double>(d32 - d);
  const double root_d = std::sqrt(static_cast<double>(d));
  const double per_step = std::ldexp(1.0, -4 * (levels - 1));
  const double y = norms.most(levels) * per_step;  // ‖(k − m)/t‖
  const double rounding = u * (3.01 * y + 16 * root_d);
  for (int l = 0; l < levels; ++l)
    head.key_missing[static_cast<std::size_t>(l)] =
        rounded_up(norms.most(l, padding * padding_square(levels, l)) * per_step + rounding);
  // Level 0 has a sum of its own; for the other levels ‖ŷ_l‖ ≤ ‖y‖ + key_missing_l.
  const double first =
      norms.most(levels + 1, padding * padding_square(levels, 0)) * per_step + 17 * u * root_d;
  const float later = *std::max_element(head.key_missing.begin() + 1, head.key_missing.end());
  head.reach = rounded_up(std::max(first, y + static_cast<double>(later)));
  head.centre_norm = rounded_up(norms.root(channels.centres) * head.key_unit);
}

void encode_values(const kernels::Kernels& kernels, const Layout& layout, int levels,
                   const EncodeSource& source, const Tokens& coded, const Scratch& a,
                   const HeadPages& pages, BlockHead& head) {
  const std::int64_t d = layout.value_dim;
  const std::int64_t d32 = layout.value_d32;
  const Side side =
      side_of(kernels, source.dtype, source.values, source.value_stride, d, d32, coded, a.rows);
  float* high = a.low + d32;
  kernels.planes.value_ranges[side.type](side.rows, d32, a.low, high, a.sum);
  head.value_unit = unit_for(kernels, a.low, d32);
  const float per_token = coded.count > 0 ? 1.0F / static_cast<float>(coded.count) : 0.0F;
  const kernels::ChannelSums channels = kernels.planes.choose_values(
      a.low, high, a.sum, per_token, head.value_unit, levels, d, d32,
      reinterpret_cast<std::uint16_t*>(pages.record + layout.value_centre),
      reinterpret_cast<std::uint16_t*>(pages.record + layout.value_step), a.channels);

  kernels::PlaneRows planes{
      {pages.value_plane[0], pages.value_plane[1], pages.value_plane[2], pages.value_plane[3]}};
  if (coded.count < page_tokens)
    for (int p = 0; p < levels; ++p) std::memset(planes.plane[p], 0, layout.value_plane_bytes);
  kernels.planes.code_values[side.type](side.rows, d32, levels, a.channels, planes, a.sums,
                                        keys_ahead(layout, source));

  const Norms norms(kernels, a.sums, d32);
  const double unit = head.value_unit;
  const double radius = norms.most(levels);
  const double rounding = u * (3.01 * radius / unit + 16 * norms.root(channels.steps));
  for (int l = 0; l < levels; ++l)
    head.value_missing[static_cast<std::size_t>(l)] = rounded_up((norms.most(l) + rounding) * unit);
  head.value_radius = rounded_up(radius);
  head.value_norm = rounded_up(norms.most(levels + 1));
  double squares = 0;
  for (int i = 0; i < coded.count; ++i) squares += a.sums[levels * page_tokens + i];
  head.value_spread = static_cast<float>(std::sqrt(squares / std::max(coded.count, 1)));
}

}  // namespace

HeadPages head_pages(const Layout& layout, std::byte* const* pages, int levels, std::int64_t head) {
  const auto h = static_cast<std::size_t>(head);
  HeadPages out{pages[0] + h * layout.head_bytes(0), {}, {}};
  for (int p = 0; p < levels; ++p) {
    const auto l = static_cast<std::size_t>(p);
    std::byte* at = pages[p] + h * layout.head_bytes(p);
    out.key_plane[l] = reinterpret_cast<std::uint8_t*>(p == 0 ? at + layout.key_plane0 : at);
    out.value_plane[l] = reinterpret_cast<std::uint8_t*>(
        at + (p == 0 ? layout.record_bytes : layout.key_plane_bytes));
  }
  return out;
}

std::int64_t encode_scratch(const Layout& layout) {
  const std::int64_t d32 = widest(layout);
  return page_tokens * d32 + 7 * d32 + (most_levels + 2) * page_tokens + page_tokens * d32 / 8;
}

void encode_head(const kernels::Kernels& kernels, const Layout& layout, int levels,
                 const EncodeSource& source, float* scratch, const HeadPages& pages) {
  const Scratch a = scratch_in(layout, scratch);
  const Tokens coded = coded_tokens(source);
  BlockHead head{};
  encode_keys(kernels, layout, levels, source, coded, a, pages, head);
  encode_values(kernels, layout, levels, source, coded, a, pages, head);
  head.raw = source.raw;
  for (const std::uint32_t word : source.raw)
    head.raw_tokens = static_cast<std::uint8_t>(head.raw_tokens + std::popcount(word));
  head.tokens = static_cast<std::uint8_t>(source.tokens);
  head.levels = static_cast<std::uint8_t>(levels);
  std::memcpy(pages.record, &head, sizeof head);
  const std::size_t parameters_end =
      layout.value_step + static_cast<std::size_t>(2 * layout.value_d32);
  std::memset(pages.record + parameters_end, 0, layout.key_plane0 - parameters_end);
}

void decode_head(const kernels::Kernels& kernels, const HeadBlock& block, int levels,
                 std::int64_t first, std::int64_t count, float* keys, std::int64_t key_stride,
                 float* values, std::int64_t value_stride) {
  const Layout& layout = *block.layout;
  const BlockHead& head = block.head();
  const auto rows_at = [&](const auto& plane, std::int64_t row_bytes, std::int64_t j) {
    kernels::CodedRows rows{};
    for (int p = 0; p < levels; ++p)
      rows.plane[p] = plane[static_cast<std::size_t>(p)] + j * row_bytes;
    return rows;
  };
  if (values != nullptr)
    kernels.planes.decode_values(rows_at(block.value_plane, layout.value_row(), first),
                                 static_cast<int>(count), levels, block.value_centre(),
                                 block.value_step(), head.value_unit, layout.value_dim,
                                 layout.value_d32, values, value_stride);
  if (keys == nullptr) return;
  alignas(64) std::uint8_t turned[kernels::tile_keys * 1024 / 2];
  const std::int64_t groups = layout.key_d32 / 8;
  for (std::int64_t j = first; j < first + count;) {
    // Turns plane 0 of one tile back into rows.
    const std::int64_t end =
        std::min(first + count, (j / kernels::tile_keys + 1) * kernels::tile_keys);
    const std::uint8_t* tile =
        block.key_plane[0] + j / kernels::tile_keys * kernels::tile_keys * layout.key_row();
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t i = j; i < end; ++i)
        std::memcpy(turned + (i - j) * layout.key_row() + 4 * g,
                    tile + (g * kernels::tile_keys + i % kernels::tile_keys) * 4, 4);
    kernels::CodedRows rows = rows_at(block.key_plane, layout.key_row(), j);
    rows.plane[0] = turned;
    kernels.planes.decode_keys(rows, static_cast<int>(end - j), levels, block.key_centre(),
                               block.key_step(), head.key_unit, layout.key_dim, layout.key_d32,
                               keys + (j - first) * key_stride, key_stride);
    j = end;
  }
}

}  // namespace tamis::cache
