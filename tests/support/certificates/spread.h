// Summarises positive numbers of any size in constant memory: smallest, largest and quantiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tamis::test {

/// Counts numbers in 2048 cells of equal width in log₂, from 2⁻¹⁶ to 2⁴⁸. Quantiles are accurate
/// to 1.1 %.
class Spread {
 public:
  void add(double x) {
    if (cells_.empty()) cells_.resize(cells);
    const double place = (std::log2(x) + 16) * per_octave;
    ++cells_[static_cast<std::size_t>(std::clamp(place, 0.0, cells - 1.0))];
    ++count_;
    smallest_ = std::min(smallest_, x);
    largest_ = std::max(largest_, x);
  }
  void add(const Spread& other) {
    if (other.count_ == 0) return;
    cells_.resize(cells);
    for (std::size_t i = 0; i < other.cells_.size(); ++i) cells_[i] += other.cells_[i];
    count_ += other.count_;
    smallest_ = std::min(smallest_, other.smallest_);
    largest_ = std::max(largest_, other.largest_);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double smallest() const { return smallest_; }
  [[nodiscard]] double largest() const { return largest_; }
  /// The quantile at `share` in 0 … 1; NaN if no number was added.
  [[nodiscard]] double quantile(double share) const {
    if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto rank = static_cast<std::int64_t>(share * static_cast<double>(count_ - 1));
    std::int64_t before = 0;
    std::size_t cell = 0;
    while (cell + 1 < cells_.size() && before + cells_[cell] <= rank) before += cells_[cell++];
    const double middle = std::exp2((static_cast<double>(cell) + 0.5) / per_octave - 16);
    return std::clamp(middle, smallest_, largest_);
  }

 private:
  static constexpr int per_octave = 32;
  static constexpr std::size_t cells = 64 * per_octave;

  std::vector<std::int64_t> cells_;
  std::int64_t count_ = 0;
  double smallest_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;
};

}  // namespace tamis::test
