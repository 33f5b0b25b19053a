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
    grid_ = {fineness};
    below_ = grid_.first() - 1;
    above_ = grid_.last() + 1;
    const int from = std::clamp(grid_.near(near), grid_.first() + fineness, grid_.last() - fineness);
    const int stride = std::max(1, fineness / 4);
    ask_ = {from - stride, from, from + stride, from + 2 * stride};
  }
  /// Asks again, closely around where it ended: for a question of which a part was looked at before.
  void restart() {
    const int from = std::clamp(below_, grid_.first() + 1, grid_.last() - 2);
    below_ = grid_.first() - 1;
    above_ = grid_.last() + 1;
    ask_ = {from - 1, from, from + 1, from + 2};
  }
  [[nodiscard]] bool done() const { return above_ - below_ <= 1; }
  /// The threshold at point i of the ask.
  [[nodiscard]] double asked(int i) const { return grid_.point(ask_[static_cast<std::size_t>(i)]); }
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
    if (done()) return;
    const int gap = above_ - below_;
    for (int i = 0; i < 4; ++i) {
      constexpr std::array<int, 4> reach{1, 5, 20, 80};
      const int far = reach[static_cast<std::size_t>(i)];
      const int at = above_ > grid_.last()    ? below_ + far
                     : below_ < grid_.first() ? above_ - far
                                              : below_ + gap * (i + 1) / 5;
      ask_[static_cast<std::size_t>(i)] = std::clamp(at, below_ + 1, above_ - 1);
    }
  }

 private:
  Grid grid_{1};
  int below_ = 0;
  int above_ = 0;  // done until started
  std::array<int, 4> ask_{};
};

}  // namespace tamis
