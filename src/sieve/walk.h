// The search for a threshold on a fixed grid of fractions of an octave. Which point it ends at depends on
// the question alone; a start near the answer only makes it shorter.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace tamis {

/// A grid of `fineness` points per octave; point i is 2^(i/fineness).
struct Grid {
  int fineness;

  [[nodiscard]] double point(int i) const { return std::exp2(static_cast<double>(i) / fineness); }
  /// 2^±120: beyond every weight that counts.
  [[nodiscard]] int first() const { return -120 * fineness; }
  [[nodiscard]] int last() const { return 120 * fineness; }
  /// The point nearest to x > 0.
  [[nodiscard]] int near(double x) const {
    if (!(x > 0)) return first();
    const double at = std::round(fineness * std::log2(x));
    return static_cast<int>(std::clamp(at, static_cast<double>(first()), static_cast<double>(last())));
  }
};

/// Finds the largest point where a question that is answered yes up to some point, and no beyond, is
/// answered yes. Four points are asked at a time.
class Walk {
 public:
  void start(int fineness, double near) {
    const int stride = std::max(1, fineness / 4);
    start(fineness, near, {-stride, 0, stride, 240 * fineness});
  }
  /// Asks first about points so many steps of the grid from the one nearest to `near`.
  void start(int fineness, double near, const std::array<int, 4>& steps) {
    grid_ = {fineness};
    below_ = grid_.first() - 1;
    above_ = grid_.last() + 1;
    const int from = grid_.near(near);
    std::array<int, 4> points;
    for (std::size_t i = 0; i < 4; ++i)
      points[i] = std::clamp(from + steps[i], grid_.first(), grid_.last());
    ask(points);
  }
  /// Ends the walk at its last yes, if there was one.
  void settle() {
    if (below_ >= grid_.first()) above_ = below_ + 1;
  }
  /// After a walk over a sample: asks about all, from the point found on.
  void restart() { start(grid_.fineness, grid_.point(below_)); }
  [[nodiscard]] bool done() const { return above_ - below_ <= 1; }
  /// Points between the last yes and the first no; 1 when done.
  [[nodiscard]] int gap() const { return above_ - below_; }
  /// The thresholds asked about.
  [[nodiscard]] const std::array<float, 4>& asked() const { return thresholds_; }
  /// The last yes, 0 if there was none.
  [[nodiscard]] double last_yes() const { return below_ < grid_.first() ? 0.0 : grid_.point(below_); }
  /// The first no.
  [[nodiscard]] double first_no() const { return grid_.point(above_); }

  template <class Yes>
  void answer(Yes yes) {
    for (int i = 0; i < 4; ++i) {
      const int at = ask_[static_cast<std::size_t>(i)];
      if (yes(i)) {
        below_ = std::max(below_, at);
      } else {
        above_ = std::min(above_, at);
      }
    }
    if (!done()) ask(next_points());
  }

 private:
  /// A guess that was too high or too low is left in ever larger steps; a gap with two ends is divided.
  [[nodiscard]] std::array<int, 4> next_points() const {
    constexpr std::array<int, 4> reach{4, 16, 64, 256};
    const int gap = above_ - below_;
    std::array<int, 4> points;
    for (int i = 0; i < 4; ++i) {
      const auto k = static_cast<std::size_t>(i);
      int at = below_ + gap * (i + 1) / 5;
      if (below_ < grid_.first()) {
        at = i == 3 ? grid_.first() : above_ - reach[k];
      } else if (above_ >= grid_.last()) {
        at = below_ + reach[k];
      }
      points[k] = std::clamp(at, below_ + 1, above_ - 1);
    }
    return points;
  }
  void ask(const std::array<int, 4>& points) {
    ask_ = points;
    for (std::size_t i = 0; i < 4; ++i) thresholds_[i] = static_cast<float>(grid_.point(points[i]));
  }

  Grid grid_{1};
  int below_ = 0;
  int above_ = 0;  // done until started
  std::array<int, 4> ask_{};
  std::array<float, 4> thresholds_{};
};

}  // namespace tamis
