#include "lab/profile/ranking.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

namespace tamis::lab::profiling {
namespace {

constexpr std::int64_t block_keys = 32;  // as in the kernel sums_of_32
// on average, unless this needs more than most_buckets
constexpr std::int64_t keys_per_bucket = 8;
constexpr std::int64_t radix_from = 2048;  // for fewer keys std::sort is as fast

/// Sorts floats ≥ 0 in descending order in three passes of 11 bits. It is needed because the
/// logits of a row may be nearly equal, and one bucket then holds most of a long row.
void radix_sort(float* x, std::int64_t n, float* spare) {
  constexpr int bits = 11;
  constexpr std::uint32_t mask = (1U << bits) - 1;
  for (int shift = 0; shift < 32; shift += bits) {
    std::int64_t place[mask + 1] = {};
    const auto digit = [&](float v) {
      return mask - ((std::bit_cast<std::uint32_t>(v) >> shift) & mask);
    };
    for (std::int64_t i = 0; i < n; ++i) ++place[digit(x[i])];
    std::int64_t next = 0;
    for (std::int64_t& p : place) next += std::exchange(p, next);
    for (std::int64_t i = 0; i < n; ++i) spare[place[digit(x[i])]++] = x[i];
    std::swap(x, spare);
  }
  // After three passes the result is in the original spare array; this copies it back.
  std::memcpy(spare, x, static_cast<std::size_t>(n) * sizeof(float));
}

}  // namespace

Ranking::Buckets Ranking::buckets_for(std::int64_t n, float top, float bottom) {
  Buckets buckets;
  const auto wanted =
      std::bit_ceil(static_cast<std::uint64_t>((n + keys_per_bucket - 1) / keys_per_bucket));
  buckets.count = static_cast<int>(std::clamp<std::uint64_t>(wanted, 32, most_buckets));
  const float range = top - bottom;
  buckets.capped = range > depth_limit;
  // If all logits are equal, or nearly so, a single bucket is used.
  const float per_unit = static_cast<float>(buckets.count - 1) / std::min(range, depth_limit);
  buckets.per_unit = per_unit < 1e30F ? per_unit : 0.0F;
  return buckets;
}

Ranking::Ranking(const kernels::RowKernels& kernels, const Buckets& buckets, std::int64_t n,
                 const RowScratch& scratch)
    : buckets_(buckets),
      blocks_((n + block_keys - 1) / block_keys),
      weights_(scratch.grouped),
      spare_(scratch.weights),
      start_(scratch.start),
      before_(scratch.before) {
  // Neighbouring keys are often in the same bucket. With two cursors per bucket, the updates of
  // one pair do not wait for each other.
  std::int32_t* cursor = scratch.cursor;
  const std::int16_t* bucket = scratch.bucket;
  std::fill(cursor, cursor + 2 * buckets_.count, 0);
  std::int64_t j = 0;
  for (; j + 2 <= n; j += 2) {
    ++cursor[2 * bucket[j]];
    ++cursor[2 * bucket[j + 1] + 1];
  }
  if (j < n) ++cursor[2 * bucket[j]];
  std::int32_t place = 0;
  for (int b = 0; b < buckets_.count; ++b) {
    start_[b] = place;
    place += std::exchange(cursor[2 * b], place);
    place += std::exchange(cursor[2 * b + 1], place);
  }
  start_[buckets_.count] = place;
  const float* w = scratch.weights;
  for (j = 0; j + 2 <= n; j += 2) {
    weights_[cursor[2 * bucket[j]]++] = w[j];
    weights_[cursor[2 * bucket[j + 1] + 1]++] = w[j + 1];
  }
  if (j < n) weights_[cursor[2 * bucket[j]]++] = w[j];

  kernels.sums_of_32(weights_, n, before_);
  for (std::int64_t i = 0; i < blocks_; ++i) total_ += std::exchange(before_[i], total_);
  before_[blocks_] = total_;
}

double Ranking::mass_in_order(std::int64_t k) const {
  double mass = before_[k / block_keys];
  for (std::int64_t i = k / block_keys * block_keys; i < k; ++i) mass += weights_[i];
  return mass;
}

int Ranking::bucket_at(std::int64_t position) const {
  const std::int32_t* after = std::upper_bound(start_, start_ + buckets_.count + 1, position);
  return static_cast<int>(after - start_) - 1;
}

double Ranking::depth_above(int bucket) const {
  return buckets_.per_unit > 0 ? (bucket + 0.51) / buckets_.per_unit : 1e-29 * most_buckets;
}
double Ranking::depth_below(int bucket) const {
  return buckets_.per_unit > 0 ? std::max(0.0, (bucket - 0.51) / buckets_.per_unit) : 0;
}

void Ranking::sort(int bucket) {
  float* first = weights_ + start_[bucket];
  float* last = weights_ + start_[bucket + 1];
  if (std::is_sorted(first, last, std::greater<>())) return;
  double mass = mass_in_order(start_[bucket]);
  if (last - first < radix_from) {
    std::sort(first, last, std::greater<>());
  } else {
    radix_sort(first, last - first, spare_);
  }
  for (std::int64_t i = start_[bucket]; i < start_[bucket + 1]; ++i) {
    if (i % block_keys == 0) before_[i / block_keys] = mass;
    mass += weights_[i];
  }
}

double Ranking::mass(std::int64_t k, int bucket) {
  if (start_[bucket + 1] != k && !is_capped(bucket)) sort(bucket);
  return mass_in_order(k);
}

}  // namespace tamis::lab::profiling
