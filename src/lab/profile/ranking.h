// The keys of a row, heaviest first, as far as somebody asks. A counting sort puts weights into
// buckets of equal width in the logit; a bucket is sorted only when a boundary falls into it. About
// 2 ns per key.
#pragma once

#include <cstdint>

#include "lab/profile/row.h"

namespace tamis::lab::profiling {

/// Logits further than this below the largest share the last bucket, with those that the rounding
/// of bucket numbers, half a bucket of at least 32, puts there too: all weights in it are below
/// 2^-47.
inline constexpr float depth_limit = 48;

class Ranking {
 public:
  /// What the buckets of a row are like: `per_unit` and `last` as the kernel `weigh` wants them.
  struct Buckets {
    int count = 0;
    float per_unit = 0;
    bool capped = false;  ///< some logit lies further down than depth_limit
  };
  static Buckets buckets_for(std::int64_t n, float top, float bottom);

  /// Groups scratch.weights by scratch.bucket, which `weigh` has filled.
  Ranking(const kernels::RowKernels& kernels, const Buckets& buckets, std::int64_t n,
        const RowScratch& scratch);

  /// Σ of all weights.
  [[nodiscard]] double total() const { return total_; }
  /// Σ of the k heaviest, the k-th of which lies in `bucket`, which is sorted, unless it is the
  /// capped one: there whatever comes first counts, its weights being below 2^-47.
  double mass(std::int64_t k, int bucket);
  /// The bucket that holds the key at place `position`, 0 … n − 1.
  [[nodiscard]] int bucket_at(std::int64_t position) const;
  /// Is it the one that holds all keys further down than depth_limit?
  [[nodiscard]] bool is_capped(int bucket) const {
    return buckets_.capped && bucket == buckets_.count - 1;
  }
  /// Bounds on top − s of the keys in a bucket that is not capped, in units of log 2.
  [[nodiscard]] double depth_above(int bucket) const;
  [[nodiscard]] double depth_below(int bucket) const;
  /// The smallest i such that the first 32·i keys (n at most), in the present order, have a mass
  /// that satisfies a predicate which holds from some mass on; ⌈n/32⌉ if none has.
  template <class Predicate>
  [[nodiscard]] std::int64_t first_block(Predicate enough) const {
    std::int64_t low = 0;
    std::int64_t high = blocks_;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (enough(before_[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// Place of a bucket's first key.
  [[nodiscard]] std::int64_t start(int bucket) const { return start_[bucket]; }
  /// Puts the keys of a bucket in order.
  void sort(int bucket);
  /// Of the key at a place, once its bucket is sorted.
  [[nodiscard]] float weight(std::int64_t position) const { return weights_[position]; }

 private:
  [[nodiscard]] double mass_in_order(std::int64_t k) const;

  Buckets buckets_;
  std::int64_t blocks_;
  float* weights_;  // grouped
  float* spare_;
  std::int32_t* start_;
  double* before_;
  double total_ = 0;
};

}  // namespace tamis::lab::profiling
