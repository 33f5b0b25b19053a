// Synthetic keys, values and queries.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "attend/threads.h"
#include "bench/data.h"
#include "bench/random.h"

namespace tamis::cli {
namespace {

constexpr std::size_t directions = 8;
/// The part of a channel's variance along the directions; the rest is noise of each key.
constexpr float shared_variance = 0.5F;
/// ‖part of a query off the directions‖² divided by ‖part along them‖².
constexpr float query_noise = 0.2F;
constexpr double law_exponent = 0.61;
constexpr double law_length = 8192;
constexpr double fewest_keys = 20;  // of k(8192)
constexpr double most_keys = 200;
constexpr double tail = 0.05;

/// The purposes of the random streams of a KV head.
enum Purpose : std::uint64_t { channels, key_noise, value_noise, courses, queries, law, purposes };

Draws draws_for(const BenchShape& shape, std::int64_t head, Purpose purpose) {
  return {shape.seed, static_cast<std::uint64_t>(head) * purposes + purpose};
}

/// The distribution of the keys of one KV head in the space of channels.
struct Keys {
  std::int64_t dim;
  std::vector<float> mean, spread;        ///< by channel
  std::vector<float> along;               ///< directions × dim, entries of variance 1
  std::array<float, directions> share{};  ///< standard deviation along each direction

  Keys(const BenchShape& shape, std::int64_t head) : dim(shape.heads.key_dim) {
    const Draws draw = draws_for(shape, head, channels);
    float harmonic = 0;
    for (std::size_t i = 0; i < directions; ++i) harmonic += 1 / static_cast<float>(i + 1);
    for (std::size_t i = 0; i < directions; ++i)
      share[i] = std::sqrt(shared_variance / harmonic / static_cast<float>(i + 1));
    for (std::int64_t c = 0; c < dim; ++c) {
      mean.push_back(draw.normal(3 * c) * std::abs(draw.normal(3 * c + 1)));
      spread.push_back(std::exp(0.3F * draw.normal(3 * c + 2)));
    }
    const auto numbers = static_cast<std::int64_t>(directions) * dim;
    for (std::int64_t i = 0; i < numbers; ++i) along.push_back(draw.normal(3 * dim + i));
  }
};

/// The coordinates along the directions from token to token: first-order autoregressions.
class Course {
 public:
  explicit Course(const Draws& draw) : draw_(draw) {}
  const std::array<float, directions>& next() {
    for (std::size_t i = 0; i < directions; ++i) {
      const float kept = at_ < static_cast<std::int64_t>(directions) ? 0
                         : i % 2 == 0                                ? 0.995F
                                                                     : 0.5F;
      place_[i] = kept * place_[i] + std::sqrt(1 - kept * kept) * draw_.normal(at_++);
    }
    return place_;
  }

 private:
  const Draws draw_;
  std::int64_t at_ = 0;
  std::array<float, directions> place_{};
};

void fill_head(const BenchShape& shape, std::int64_t head, BenchData& data) {
  const Keys keys(shape, head);
  const std::int64_t d = shape.heads.key_dim;
  const Draws key_draw = draws_for(shape, head, key_noise);
  const Draws value_draw = draws_for(shape, head, value_noise);
  Course course(draws_for(shape, head, courses));
  const float own = std::sqrt(1 - shared_variance);
  std::vector<float> row(static_cast<std::size_t>(d));
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    const auto& place = course.next();
    const std::int64_t first = (head * shape.tokens + t) * d;
    for (std::int64_t c = 0; c < d; ++c)
      row[static_cast<std::size_t>(c)] = own * key_draw.normal(t * d + c);
    for (std::size_t i = 0; i < directions; ++i) {
      const float by = keys.share[i] * place[i];
      const float* along = keys.along.data() + static_cast<std::int64_t>(i) * d;
      for (std::int64_t c = 0; c < d; ++c) row[static_cast<std::size_t>(c)] += by * along[c];
    }
    for (std::int64_t c = 0; c < d; ++c) {
      const auto i = static_cast<std::size_t>(c);
      data.k[static_cast<std::size_t>(first + c)] = to_bf16(keys.mean[i] + keys.spread[i] * row[i]);
      data.v[static_cast<std::size_t>(first + c)] =
          to_bf16(0.25F * keys.spread[i] + 0.5F * value_draw.normal(t * d + c));
    }
  }
}

/// Returns the dot products of a query with all keys, which are its logits at scale 1, largest
/// first.
std::vector<float> falling_logits(const BenchShape& shape, const BenchData& data, std::int64_t head,
                                  std::span<const float> q) {
  const std::int64_t d = shape.heads.key_dim;
  std::vector<float> logits(static_cast<std::size_t>(shape.tokens));
  const bf16* k = data.k.data() + head * shape.tokens * d;
  for (float& logit : logits) {
    float sum = 0;
    for (std::int64_t c = 0; c < d; ++c) sum += q[static_cast<std::size_t>(c)] * to_float(*k++);
    logit = sum;
  }
  std::ranges::sort(logits, std::greater<>());
  return logits;
}

/// Returns how many keys hold all but `tail` of the weight if the query is multiplied by `factor`.
double keys_needed(std::span<const float> falling, double factor) {
  std::vector<float> weights(falling.size());
  double total = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    total += weights[j] = std::exp(static_cast<float>(factor) * (falling[j] - falling[0]));
  double held = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    if ((held += weights[j]) >= (1 - tail) * total) return static_cast<double>(j + 1);
  return static_cast<double>(weights.size());
}

/// Returns the factor on the query at which `wanted` keys hold all but `tail` of its weight. A
/// larger factor needs fewer keys.
double factor_for(std::span<const float> falling, double wanted) {
  const double reach = std::max<double>(1e-6, falling.front() - falling.back());
  double least = 0.1 / reach;
  double most = 1e4 / reach;
  for (int i = 0; i < 20; ++i) {
    const double middle = std::sqrt(least * most);
    (keys_needed(falling, middle) > wanted ? least : most) = middle;
  }
  return std::sqrt(least * most);
}

void fill_queries(const BenchShape& shape, std::int64_t head, BenchData& data) {
  const Keys keys(shape, head);
  const Heads& heads = shape.heads;
  const std::int64_t d = heads.key_dim;
  const Draws draw = draws_for(shape, head, queries);
  const Draws wanted = draws_for(shape, head, law);
  const std::int64_t in_row = static_cast<std::int64_t>(directions) + d;
  const std::int64_t sequence = head / heads.kv_heads;
  std::vector<float> q(static_cast<std::size_t>(d));
  for (std::int64_t g = 0; g < heads.group(); ++g) {
    double factor = 0;
    for (std::int64_t step = 0; step < shape.steps; ++step) {
      const std::int64_t first = (step * heads.group() + g) * in_row;
      const float noise = std::sqrt(query_noise * 2.7F);  // Σ 1/i ≈ 2.7 = ‖part along‖²
      for (std::int64_t c = 0; c < d; ++c)
        q[static_cast<std::size_t>(c)] =
            noise * draw.normal(first + static_cast<std::int64_t>(directions) + c);
      for (std::size_t i = 0; i < directions; ++i) {
        const float by = draw.normal(first + static_cast<std::int64_t>(i)) /
                         std::sqrt(static_cast<float>(i + 1));
        for (std::int64_t c = 0; c < d; ++c)
          q[static_cast<std::size_t>(c)] +=
              by * keys.along[i * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)];
      }
      for (std::int64_t c = 0; c < d; ++c)
        q[static_cast<std::size_t>(c)] /= keys.spread[static_cast<std::size_t>(c)];
      if (step == 0) {
        const double at_law_length =
            fewest_keys * std::pow(most_keys / fewest_keys, wanted.uniform(g));
        const double many =
            at_law_length * std::pow(static_cast<double>(shape.tokens) / law_length, law_exponent);
        factor = factor_for(falling_logits(shape, data, head, q),
                            std::min(many, 0.5 * static_cast<double>(shape.tokens))) /
                 data.scale;
      }
      const std::int64_t query_head = head % heads.kv_heads * heads.group() + g;
      float* to =
          data.q.data() + ((step * shape.batch + sequence) * heads.query_heads + query_head) * d;
      for (std::int64_t c = 0; c < d; ++c)
        to[c] = static_cast<float>(factor) * q[static_cast<std::size_t>(c)];
    }
  }
}

}  // namespace

BenchData synthetic_data(const BenchShape& shape, int threads) {
  const Heads& heads = shape.heads;
  const std::int64_t all = shape.batch * heads.kv_heads;
  BenchData data;
  data.scale = heads.scale;
  data.k.resize(static_cast<std::size_t>(all * shape.tokens * heads.key_dim));
  data.v.resize(data.k.size());
  data.q.resize(
      static_cast<std::size_t>(shape.steps * shape.batch * heads.query_heads * heads.key_dim));
  on_threads(static_cast<std::size_t>(all), threads, [&](std::size_t head) {
    fill_head(shape, static_cast<std::int64_t>(head), data);
    fill_queries(shape, static_cast<std::int64_t>(head), data);
  });
  return data;
}

}  // namespace tamis::cli
