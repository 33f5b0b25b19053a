#include "lab/verify/logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tamis::lab::verification {

template <class T>
KeyBlocks<T>::KeyBlocks(std::span<const T> keys, std::int64_t rows, std::int64_t dim)
    : dim_(dim),
      blocks_((rows + lanes - 1) / lanes),
      transposed_(static_cast<std::size_t>(blocks_ * lanes * dim)) {
  for (std::int64_t j = 0; j < rows; ++j)
    for (std::int64_t c = 0; c < dim; ++c)
      transposed_[static_cast<std::size_t>((j / lanes * dim + c) * lanes + j % lanes)] =
          keys[static_cast<std::size_t>(j * dim + c)];
}

template <class T>
void KeyBlocks<T>::multiply(std::span<const T> q, std::int64_t keys, T* out) const {
  const T* block = transposed_.data();
  for (std::int64_t first = 0; first < keys; first += lanes) {
    T sum[lanes] = {};
    for (const T x : q) {
      for (std::int64_t l = 0; l < lanes; ++l) sum[l] += x * block[l];
      block += lanes;
    }
    std::copy(sum, sum + lanes, out + first);
  }
}

template class KeyBlocks<float>;
template class KeyBlocks<double>;

// Let u = 2^-53, η = 2^-1074 and m be the number of columns. The computed dot product L̂ of the f64
// factors q̂ and k̂ has
//   |L̂ − q̂·k̂| ≤ γ_m·Σ|q̂_c·k̂_c| + 2m·η/2 ≤ γ_m·‖q̂‖‖k̂‖ + m·η,        γ_m = m·u/(1 − m·u),
// since every product loses at most u of itself or η/2, every sum loses at most u of itself (sums
// do not underflow), and rounding errors grow by less than a factor 2. With exact factors
// q = q̂ + δq and k = k̂ + δk,
//   |q̂·k̂ − q·k| ≤ ‖q̂‖‖δk‖ + ‖δq‖‖k̂‖ + ‖δq‖‖δk‖.
// Computing L̂ ± bound in f64 rounds by at most u·(|L̂| + bound) ≤ 2u·‖q̂‖‖k̂‖ + …. Hence
//   γ_m + 2u < c = (m + 4)·2u        for m < 2^40,
// whose slack of more than m·u + 6u covers the roundings of the bound itself, which are two
// products and three sums of relative error u each (the norms are upper bounds already), and those
// of the off terms, which are bounds with a slack of their own. As c < 1, the product of one number
// of the query and one of the key bounds everything:
//   (‖q̂‖ + ‖δq‖/c)·(c·‖k̂‖ + ‖δk‖) ≥ c·‖q̂‖‖k̂‖ + ‖q̂‖‖δk‖ + ‖δq‖‖k̂‖ + ‖δq‖‖δk‖.
// Underflow of the bound's own products adds η/2 each, so floor = (m + 4)·2η. Overflow leaves an
// infinity or a NaN in L̂ or in the bound; such rows are not filtered. (c < 1 needs m < 2^51; no
// larger witness fits memory.)
Bounds::Bounds(const Form& form)
    : form_(form),
      c_(static_cast<double>(form.q.dim + 4) * 0x1p-52),
      floor_(static_cast<double>(form.q.dim + 4) * 2 * std::numeric_limits<double>::denorm_min()),
      keys_(static_cast<std::size_t>((form.k.rows + lanes - 1) / lanes * lanes)) {
  for (std::size_t j = 0; j < static_cast<std::size_t>(form.k.rows); ++j) {
    keys_[j] = c_ * form.k.norm[j] + form.k.off[j];
    largest_ = std::max(largest_, keys_[j]);
  }
}

double Bounds::of_query(std::int64_t i) const {
  return form_.q.norm[static_cast<std::size_t>(i)] + form_.q.off[static_cast<std::size_t>(i)] / c_;
}

bool Bounds::hold(std::int64_t i) const {
  return std::isfinite(of_query(i)) && std::isfinite(of_query(i) * largest_ + floor_);
}

}  // namespace tamis::lab::verification
