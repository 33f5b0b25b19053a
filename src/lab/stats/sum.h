// Neumaier's compensated sum, whose error does not grow with the number of terms to first order.
#pragma once

#include <cmath>

namespace tamis::lab::stats {

class Sum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    rest_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

}  // namespace tamis::lab::stats
