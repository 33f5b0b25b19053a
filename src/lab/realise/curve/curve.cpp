#include "lab/realise/curve/curve.h"

#include <cmath>
#include <numbers>

namespace tamis::lab::realisation {

Curve::Curve(std::int64_t n, std::int64_t k) : n_(n), k_(k) {
  const auto count = static_cast<long double>(n);
  for (std::int64_t p = 0; p < n; ++p) {
    const long double angle = std::numbers::pi_v<long double> * static_cast<long double>(p) / count;
    const long double sine = std::sin(angle);
    gap_.push_back(static_cast<double>(2 * sine * sine));  // 1 − cos 2a without cancellation
    root_.emplace_back(std::cos(2 * angle), std::sin(2 * angle));
  }
}

double Curve::key_norm() const { return std::sqrt(static_cast<double>(k_)) * (1 + 0x1p-40); }

void Curve::key(std::int64_t position, std::span<double> out) const {
  for (std::int64_t h = 1; h <= k_; ++h) {
    // e^iht is the root at position h·p, so no error grows with h.
    const Complex& root = root_[static_cast<std::size_t>(position * h % n_)];
    out[static_cast<std::size_t>(h - 1)] = static_cast<double>(root.real());
    out[static_cast<std::size_t>(k_ + h - 1)] = static_cast<double>(root.imag());
  }
}

void Curve::add_product(std::span<const std::int64_t> set, long double weight,
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
