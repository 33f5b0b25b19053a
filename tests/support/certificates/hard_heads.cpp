#include "support/certificates/hard_heads.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace tamis::test {
namespace {

constexpr std::size_t level = 0;
constexpr std::size_t place = 1;
constexpr std::size_t pairs = 2;

using Random = std::mt19937_64;

/// One of `numbers`, at random.
float number_of(Random& random, std::initializer_list<float> numbers) {
  return numbers.begin()[random() % numbers.size()];
}
std::int64_t count_of(Random& random, std::initializer_list<std::int64_t> numbers) {
  return numbers.begin()[random() % numbers.size()];
}
bool one_in(Random& random, std::uint64_t n) { return random() % n == 0; }
float uniform(Random& random) { return std::uniform_real_distribution<float>(-1, 1)(random); }
float normal(Random& random) { return std::normal_distribution<float>()(random); }

/// The rows of one block, which may be shorter than a page.
struct Block {
  Block(HardHead& head, std::int64_t number)
      : d(static_cast<std::size_t>(head.shape.head_dim)),
        d_v(static_cast<std::size_t>(head.shape.value_dim)),
        keys(static_cast<std::size_t>(std::min(page_tokens, head.tokens - number * page_tokens))),
        k(head.numbers.k.data() + static_cast<std::size_t>(number * page_tokens) * d),
        v(head.numbers.v.data() + static_cast<std::size_t>(number * page_tokens) * d_v),
        q(head.numbers.q.data()) {}

  std::size_t d, d_v, keys;
  float* k;
  float* v;
  const float* q;  ///< the first query row

  float& key(std::size_t j, std::size_t c) { return k[j * d + c]; }
  float& value(std::size_t j, std::size_t c) { return v[j * d_v + c]; }
  /// The number in channel c that moves the first row's logit by x octaves.
  [[nodiscard]] float octaves(std::size_t c, float x) const { return q[c] != 0 ? x / q[c] : x; }
};

/// Describes a block of keys. Logits and widths are in octaves.
struct Plan {
  float level, reach;
  std::uint64_t shape;  ///< selects how keys are placed around the level
  std::size_t few;
  float width;        ///< by how much the pairs widen bounds
  bool together;      ///< the same two keys span the range of all pairs
  float both, apart;  ///< where the other keys of a pair lie, in steps of its codes
  bool anywhere;
};

/// Levels at and beyond what floats can tell apart, and reaches up to and beyond what
/// a scan accepts.
Plan any_plan(Random& random) {
  Plan plan{};
  plan.level = number_of(
      random, {0, 0, 1, 20, 30, 64, 80, 100, -20, -50, -100, -125, -126, -127, -149, -151, -200});
  plan.reach = number_of(random, {0, 0, 1, 5, 12, 30, 49, 63, 75, 90, 95, 100, 120, 126});
  plan.shape = random() % 5;
  plan.few = static_cast<std::size_t>(count_of(random, {0, 1, 2, 16, 60, 126}));
  plan.width = number_of(random, {0, 0x1p-5F, 0x1p-5F, 1, 5, 20, 40, 46, 48, 49.9F, 51});
  plan.together = one_in(random, 2);
  plan.both = number_of(random, {0, 0, 0, 0.5F, 3.5F});
  // Offsets at the edge between two codes, where the middle level has no error and the coarse one
  // the largest, and offsets where the coarse level has no error either.
  plan.apart = number_of(random, {0, 0x1p-10F, -0x1p-10F, 0x1p-5F, 0x1p-5F, -0x1p-5F, 0.5F});
  plan.anywhere = one_in(random, 5);
  return plan;
}

/// A block whose bounds lie twice `width` above the truth, so that they set the reference.
Plan loud_plan(float width, Random& random) {
  Plan plan{};
  plan.level = number_of(random, {0, 0, 0, 40, -300});
  plan.width = width;
  plan.together = one_in(random, 4);
  plan.apart = number_of(random, {0x1p-10F, 0x1p-5F, 0x1p-5F});
  return plan;
}

/// A block whose centre is `below` octaves below the reference that `loud` sets, and whose few
/// highest keys have true logits about as high as those of `loud`.
Plan wide_plan(const Plan& loud, float below, Random& random) {
  Plan plan{};
  plan.level = loud.level + 1.95F * loud.width - below;
  plan.reach = loud.level - plan.level + number_of(random, {0, 3, 6, 10, 14}) + 3 * normal(random);
  plan.few = static_cast<std::size_t>(count_of(random, {1, 2, 16, 60}));
  plan.width = number_of(random, {0x1p-8F, 0x1p-5F, 1});
  plan.both = 0.5F;
  return plan;
}

/// The place of key j between −1 and 1 around the level of its block.
float place_of(const Plan& plan, std::size_t j, Random& random) {
  switch (plan.shape) {
    case 0:  // a few keys far above the rest
      return j < plan.few ? 1.0F : -1.0F;
    case 1:
      return j < plan.few ? -1.0F : 1.0F;
    case 2:  // one key above, one below, all others tied between them
      return j == plan.few ? 1.0F : j == plan.few + 1 ? -1.0F : 0.0F;
    case 3:  // evenly spaced
      return 1.0F - static_cast<float>(j) / 64.0F;
    default:
      return uniform(random);
  }
}

/// Draws the pairs of channels that cancel: their coding error widens bounds and moves no logit.
void draw_pairs(Block& block, const Plan& plan, Random& random) {
  const std::size_t count = (block.d - pairs) / 2;
  const float amplitude = std::abs(block.q[pairs]);
  if (amplitude == 0) return;
  // The width is w = ‖q·step‖·‖(k − k̂)/step‖, and a code misses half a step in every channel.
  const float step = plan.width / (std::sqrt(2.0F * static_cast<float>(count)) * 0.5F *
                                   std::sqrt(static_cast<float>(block.d)) * amplitude);
  for (std::size_t j = 0; j < block.keys; ++j)
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t c = pairs + 2 * p;
      const bool end = plan.together ? j < 2 : j / 2 == p;
      const float middle = step * (end             ? (j % 2 == 0 ? 8.0F : -8.0F)
                                   : plan.anywhere ? 8 * uniform(random)
                                                   : plan.both);
      const float off = end ? 0.0F : std::copysign(step, block.q[c]) * plan.apart;
      block.key(j, c) = middle + off;
      block.key(j, c + 1) = middle - off;
    }
}

void draw_values(Block& block, std::int64_t number, float size, Random& random) {
  const std::uint64_t shape = random() % 5;
  for (std::size_t j = 0; j < block.keys; ++j)
    for (std::size_t c = 0; c < block.d_v; ++c) {
      float& x = block.value(j, c);
      const bool own = c == static_cast<std::size_t>(number) % block.d_v;
      switch (shape) {
        case 0:  // a direction that is the block's own
          x = own ? 1.0F : 0.0F;
          break;
        case 1:  // opposite signs for keys above and below
          x = std::copysign(own ? 1.0F : 0.1F, block.key(j, place));
          break;
        case 2:  // one value far from all others
          x = j == 3 ? 1000.0F : 1.0F;
          break;
        case 3:
          x = 1.0F;
          break;
        default:
          x = normal(random);
      }
      x *= size;
    }
}

void draw_block(HardHead& head, std::int64_t number, const Plan& plan, Random& random) {
  Block block(head, number);
  std::fill_n(block.k, block.keys * block.d, 0.0F);
  for (std::size_t j = 0; j < block.keys; ++j) {
    block.key(j, level) = block.octaves(level, plan.level);
    block.key(j, place) = block.octaves(place, plan.reach * place_of(plan, j, random));
  }
  draw_pairs(block, plan, random);
  // A key too large for any code, in a channel that is zero in every query.
  if (block.d % 2 != 0 && one_in(random, 8))
    block.key(random() % block.keys, block.d - 1) = 0x1p56F;
  draw_values(block, number, head.value_size, random);
}

void draw_keys(HardHead& head, Random& random) {
  const std::int64_t blocks = (head.tokens + page_tokens - 1) / page_tokens;
  const Plan loud = loud_plan(number_of(random, {30, 36, 40, 44, 48}), random);
  const Plan wide =
      wide_plan(loud, number_of(random, {90, 100, 126, 127, 149, 150, 152, 154, 157, 160}), random);
  const bool aimed = one_in(random, 2);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::uint64_t role = aimed ? (b < 2 ? static_cast<std::uint64_t>(b) : random() % 4) : 2;
    Plan plan = role == 0 ? wide : role == 1 ? loud : any_plan(random);
    if (aimed && role > 1) plan.level -= 200;  // far below, so that it does not matter
    draw_block(head, b, plan, random);
  }
}

void round_numbers(HardHead& head) {
  for (std::vector<float>* part : {&head.numbers.k, &head.numbers.v})
    for (float& x : *part) {
      x = stored(head.shape.dtype, x);
      if (!std::isfinite(x)) x = 0.0F;
    }
}

/// Ordinary numbers, for which the search can show how tight the bounds are.
void draw_ordinary(HardHead& head, Random& random) {
  const Kind kind = one_in(random, 2) ? Kind::normal : all_kinds()[random() % all_kinds().size()];
  head.shape.scale = 1.0F;
  head.numbers = draw(kind, head.shape, head.tokens, random);
  for (float& x : head.numbers.q) x *= 2 / std::sqrt(static_cast<float>(head.shape.head_dim));
}

void draw_queries(HardHead& head, Random& random) {
  const bool half = head.shape.dtype == DType::f16;
  const float key_size =
      half ? number_of(random, {1, 1, 1, 1, 0x1p-10F, 0x1p-16F, 0x1p4F})
           : number_of(random, {1, 1, 1, 1, 1, 0x1p40F, 0x1p47F, 0x1p-60F, 0x1p-110F});
  const auto d = static_cast<std::size_t>(head.shape.head_dim);
  float* q = head.numbers.q.data();
  for (std::int64_t r = 0; r < head.shape.query_heads; ++r, q += d) {
    const float size =
        (r == 0 ? 1.0F : number_of(random, {1, 0.5F, -1, 0, 0x1p-30F, 1.5F})) / key_size;
    const float amplitude = size * number_of(random, {1, 4, 13.5F, 13.5F, 50, 300});
    for (std::size_t c = 0; c < d; ++c)
      q[c] = c < pairs ? size : c % 2 == 0 ? amplitude : -amplitude;
    if (d % 2 != 0) q[d - 1] = 0.0F;  // the last channel has no partner
  }
}

}  // namespace

HardHead draw_hard(Random& random) {
  HardHead head;
  Shape& shape = head.shape;
  constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  shape.dtype = dtypes[random() % 3];
  shape.kv_heads = 1;
  shape.query_heads = count_of(random, {1, 1, 1, 2, 4});
  shape.queries = 1;
  shape.head_dim = count_of(random, {8, 9, 17, 32, 32, 32, 33});
  shape.value_dim = count_of(random, {2, 8, 8});
  shape.scale = 0.6931472F;
  head.tail = count_of(random, {0, 0, 1, 60});
  head.sinks = count_of(random, {0, 0, 0, 4});
  const std::int64_t blocks = count_of(random, {2, 2, 2, 3, 4, 9, 12});
  head.tokens = blocks * page_tokens + head.tail;
  if (one_in(random, 4)) {
    draw_ordinary(head, random);
    return head;
  }
  const auto d = static_cast<std::size_t>(shape.head_dim);
  head.numbers.q.resize(static_cast<std::size_t>(shape.query_heads) * d);
  head.numbers.k.resize(static_cast<std::size_t>(head.tokens) * d);
  head.numbers.v.resize(static_cast<std::size_t>(head.tokens * shape.value_dim));
  head.value_size =
      shape.dtype == DType::f16
          ? number_of(random, {1, 1, 1, 0x1p-14F, 0x1p-24F, 0x1p5F})
          : number_of(random, {1, 1, 1, 0x1p-80F, 0x1p-130F, 0x1p45F, 0x1p55F, 0x1p100F});
  draw_queries(head, random);
  draw_keys(head, random);
  round_numbers(head);
  return head;
}

void change(HardHead& head, Random& random) {
  const std::int64_t blocks = (head.tokens + page_tokens - 1) / page_tokens;
  const auto any_block = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(blocks));
  };
  const auto any = [&](std::vector<float>& x) -> float& { return x[random() % x.size()]; };
  Numbers& n = head.numbers;
  const std::uint64_t count = 1 + random() % 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    Block block(head, any_block());
    const std::size_t j = random() % block.keys;
    const std::size_t other = random() % block.keys;
    const float factor =
        one_in(random, 4) ? number_of(random, {0, 0.5F, 2, -1}) : 1 + 0.2F * normal(random);
    switch (random() % 12) {
      case 0: {  // moves the level of a block
        const float octaves =
            block.octaves(level, number_of(random, {0.1F, 1, 10, 40}) * normal(random));
        for (std::size_t t = 0; t < block.keys; ++t) block.key(t, level) += octaves;
        break;
      }
      case 1:  // scales the reach of a block
        for (std::size_t t = 0; t < block.keys; ++t) block.key(t, place) *= factor;
        break;
      case 2:  // scales the width of a block
        for (std::size_t t = 0; t < block.keys; ++t)
          for (std::size_t c = pairs; c < block.d; ++c) block.key(t, c) *= factor;
        break;
      case 3:  // makes one key a copy of another
        std::copy_n(block.k + other * block.d, block.d, block.k + j * block.d);
        break;
      case 4:  // moves one key up or down
        block.key(j, place) +=
            block.octaves(place, number_of(random, {0.01F, 0.3F, 5, 50}) * normal(random));
        break;
      case 5:  // redraws a block
        if (one_in(random, 4)) draw_block(head, any_block(), any_plan(random), random);
        break;
      case 6:
        any(n.q) *= 1 + 0.05F * normal(random);
        break;
      case 7:
        any(n.v) *= factor;
        break;
      case 8:  // flips the signs of some values of a block
        for (std::size_t t = std::min(j, other); t < std::max(j, other); ++t)
          block.value(t, random() % block.d_v) *= -1;
        break;
      case 9:  // moves one key a little in every channel
        for (std::size_t c = 0; c < block.d; ++c)
          block.key(j, c) += block.octaves(c, 0.02F * normal(random));
        break;
      case 10:  // scales single numbers
        for (int t = 0; t < 30; ++t) any(n.k) *= 1 + 0.01F * normal(random);
        break;
      default:
        for (int t = 0; t < 3; ++t) any(n.k) += 0.1F * normal(random) * std::abs(any(n.k));
        break;
    }
  }
  round_numbers(head);
}

}  // namespace tamis::test
