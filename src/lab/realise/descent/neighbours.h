// Lists, for each row, the keys outside its support whose logits come near those of the support. A
// step of the descent looks only at these until the points have moved far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/lab/pattern.h>
#include "lab/realise/descent/points.h"

namespace tamis::lab::realisation {

/// Rows are divided into parts, whose number does not depend on the threads. A part is one item of
/// a parallel loop and has its own sums, which are added in the order of the parts, so results do
/// not depend on the threads.
class Neighbours {
 public:
  /// `pattern` must outlive this.
  Neighbours(const Pattern& pattern, bool causal);

  /// Lists for row i every key outside its support with q_i·k_j > floor[i], or the `longest` keys
  /// with the largest such logits. Sets most[i] to the largest such logit, or to floor[i] if there
  /// is none. 2·rows·cols·dim flops.
  void refresh(const Points& q, const Points& k, std::span<const float> floor,
               std::span<float> most, int threads);

  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(part_.size()); }
  /// The first row of a part; for part `parts()` the number of rows.
  [[nodiscard]] std::int64_t first_row(std::int64_t part) const;
  /// The listed keys of a row of this part, ascending.
  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t part, std::int64_t row) const;

  /// The longest list. It bounds the memory when a start is so bad that half of all keys are too
  /// near.
  static constexpr std::int64_t longest = 512;

 private:
  struct Part {
    std::vector<std::int32_t> key;
    std::vector<std::int64_t> start;  // one more than the part's rows
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
