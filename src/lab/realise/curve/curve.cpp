#include "lab/realise/curve/curve.h"

#include <cmath>
#include <numbers>

namespace tamis::lab::realisation {

Curve::Curve(MomentKind kind, std::int64_t n, std::int64_t k) : kind_(kind), n_(n), k_(k) {
  const auto count = static_cast<long double>(n);
  const long double step = n > 1 ? 2 / (count - 1) : 0;
  for (std::int64_t p = 0; p < n; ++p) {
    const auto at = static_cast<long double>(p);
    if (kind == MomentKind::line) {
      const long double apart = step * at;
      gap_.push_back(static_cast<double>(apart * apart));
      // The middle is subtracted first, so that the points are symmetric.
      point_.push_back(n > 1 ? (2 * at - (count - 1)) / (count - 1) : 0);
    } else {
      const long double angle = std::numbers::pi_v<long double> * at / count;
      const long double sine = std::sin(angle);
      gap_.push_back(static_cast<double>(2 * sine * sine));  // 1 − cos 2a without cancellation
      root_.emplace_back(std::cos(2 * angle), std::sin(2 * angle));
    }
  }
}

double Curve::key_norm() const {
  return std::sqrt(static_cast<double>(kind_ == MomentKind::line ? 2 * k_ : k_)) * (1 + 0x1p-40);
}

void Curve::key(std::int64_t position, std::span<double> out) const {
  const auto p = static_cast<std::size_t>(position);
  if (kind_ == MomentKind::line) {
    long double power = 1;
    for (double& x : out) x = static_cast<double>(power *= point_[p]);
    return;
  }
  for (std::int64_t h = 1; h <= k_; ++h) {
    // e^iht is the root at position h·p, so no error grows with h.
    const Complex& root = root_[static_cast<std::size_t>(position * h % n_)];
    out[static_cast<std::size_t>(h - 1)] = static_cast<double>(root.real());
    out[static_cast<std::size_t>(k_ + h - 1)] = static_cast<double>(root.imag());
  }
}

void Curve::add_product(std::span<const std::int64_t> set, long double weight,
                        std::span<long double> coefficients) const {
  if (kind_ == MomentKind::line)
    add_on_line(set, weight, coefficients);
  else
    add_on_circle(set, weight, coefficients);
}

void Curve::add_on_line(std::span<const std::int64_t> set, long double weight,
                        std::span<long double> out) const {
  std::vector<long double> a{1};  // by ascending power
  for (const std::int64_t s : set)
    for (int twice = 0; twice < 2; ++twice) {
      const long double root = point_[static_cast<std::size_t>(s)];
      a.push_back(0);
      for (std::size_t h = a.size() - 1; h > 0; --h) a[h] = a[h - 1] - root * a[h];
      a[0] *= -root;
    }
  for (std::size_t h = 1; h < a.size(); ++h) out[h - 1] += weight * a[h];
}

void Curve::add_on_circle(std::span<const std::int64_t> set, long double weight,
                          std::span<long double> out) const {
  // The coefficients c_h of Σ c_h·e^iht for h ≥ 0; the others are their conjugates, as the sum is
  // real.
  std::vector<Complex> c{1};
  for (const std::int64_t s : set) {
    // 1 − cos(t − a) = 1 − ½e^−ia·e^it − ½e^ia·e^−it
    const Complex up = -0.5L * std::conj(root_[static_cast<std::size_t>(s)]);
    const Complex down = std::conj(up);
    const std::vector<Complex> before = c;
    c.emplace_back();
    for (std::size_t h = 0; h < c.size(); ++h) {
      const Complex below = h > 0               ? before[h - 1]
                            : before.size() > 1 ? std::conj(before[1])
                                                : Complex();
      const Complex above = h + 1 < before.size() ? before[h + 1] : Complex();
      c[h] = (h < before.size() ? before[h] : Complex()) + up * below + down * above;
    }
  }
  for (std::size_t h = 1; h < c.size(); ++h) {
    out[h - 1] += weight * 2 * c[h].real();
    out[static_cast<std::size_t>(k_) + h - 1] -= weight * 2 * c[h].imag();
  }
}

}  // namespace tamis::lab::realisation
