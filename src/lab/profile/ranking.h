// Ranks the keys of a row, heaviest first, sorting only where needed. A counting sort puts the
// weights into buckets of equal width in the logit; a bucket is sorted only when a boundary falls
// into it. Takes about 2 ns per key.
#pragma once

#include <cstdint>

#include "lab/profile/row.h"

namespace tamis::lab::profiling {

/// Logits further than this below the largest are in the last bucket. Rounding of bucket numbers
/// also puts logits there that are up to half a bucket higher; there are at least 32 buckets, so
/// all weights in the last one are below 2^-47.
inline constexpr float depth_limit = 48;

class Ranking {
 public:
  /// The layout of a row's buckets. `per_unit` and `count − 1` are arguments of
  /// the kernel `weigh`.
  struct Buckets {
    int count = 0;
    float per_unit = 0;
    bool capped = false;  ///< some logit is more than depth_limit below the largest
  };
  static Buckets buckets_for(std::int64_t n, float top, float bottom);

  /// Groups scratch.weights by scratch.bucket, both filled by `weigh`.
  Ranking(const kernels::RowKernels& kernels, const Buckets& buckets, std::int64_t n,
          const RowScratch& scratch);

  /// Sum of all weights.
  [[nodiscard]] double total() const { return total_; }
  /// Sum of the k heaviest weights, the k-th of which lies in `bucket`. Sorts that bucket, unless
  /// it is the capped one or k ends it. In the capped bucket any keys are counted, since their
  /// weights are below 2^-47.
  double mass(std::int64_t k, int bucket);
  /// The bucket that contains the key at `position`, 0 … n − 1.
  [[nodiscard]] int bucket_at(std::int64_t position) const;
  /// Whether the bucket is the one with all keys more than depth_limit below the largest.
  [[nodiscard]] bool is_capped(int bucket) const {
    return buckets_.capped && bucket == buckets_.count - 1;
  }
  /// Bounds on top − s for the keys in a bucket that is not capped, in units of log 2: depth_above
  /// is the upper bound, depth_below the lower.
  [[nodiscard]] double depth_above(int bucket) const;
  [[nodiscard]] double depth_below(int bucket) const;
  /// Returns the smallest i such that the mass of the first min(32·i, n) keys, in the present
  /// order, satisfies `enough`, or ⌈n/32⌉ if none does. `enough` must be true for every mass above
  /// one for which it is true.
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
  /// Position of a bucket's first key.
  [[nodiscard]] std::int64_t start(int bucket) const { return start_[bucket]; }
  /// Sorts the keys of a bucket, heaviest first.
  void sort(int bucket);
  /// Weight of the key at `position`, whose bucket must be sorted.
  [[nodiscard]] float weight(std::int64_t position) const { return weights_[position]; }

 private:
  [[nodiscard]] double mass_in_order(std::int64_t k) const;

  Buckets buckets_;
  std::int64_t blocks_;
  float* weights_;  // grouped by bucket
  float* spare_;
  std::int32_t* start_;
  double* before_;
  double total_ = 0;
};

}  // namespace tamis::lab::profiling
