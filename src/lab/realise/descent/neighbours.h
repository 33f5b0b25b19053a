// For each row the keys outside its support whose logits come near those of the support: all that a
// step of the descent needs to look at until points have moved far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include "lab/realise/descent/points.h"

namespace tamis::lab::realisation {

/// Rows are dealt into parts, whose number does not depend on the threads: a part is an item of a
/// parallel loop and has sums of its own, which are added in the order of the parts.
class Neighbours {
 public:
  /// `pattern` must outlive this.
  Neighbours(const Pattern& pattern, bool causal);

  /// Lists for row i every key outside its support with q_i·k_j > floor[i], or the `longest`
  /// largest of them. Sets most[i] to the largest such logit, or to floor[i] if there is none.
  /// 2·rows·cols·d flops.
  void refresh(const Points& q, const Points& k, std::span<const float> floor,
               std::span<float> most, int threads);

  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(part_.size()); }
  /// Of part `parts()`: the number of rows.
  [[nodiscard]] std::int64_t first_row(std::int64_t part) const;
  /// Ascending.
  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t part, std::int64_t row) const;

  /// Bounds memory where a start is so bad that half of all keys are too near.
  static constexpr std::int64_t longest = 512;

 private:
  struct Part {
    std::vector<std::int32_t> key;
    std::vector<std::int64_t> start;  // one more than rows
  };
  void refresh_part(std::int64_t part, const Points& q, const Points& k,
                    std::span<const float> floor, std::span<float> most);
  [[nodiscard]] float keep_others(std::int64_t row, float floor, std::vector<std::int32_t>& keys,
                                  std::vector<float>& values) const;

  const Pattern& pattern_;
  bool causal_;
  std::int64_t rows_per_part_;
  std::vector<Part> part_;
};

}  // namespace tamis::lab::realisation
