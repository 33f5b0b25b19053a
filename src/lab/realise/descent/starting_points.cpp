#include "lab/realise/descent/starting_points.h"

#include "lab/numbers/random.h"

namespace tamis::lab::realisation {
namespace {

/// Sets to_i = Σ from_j over the nonzeros (i, j), or to_j = Σ from_i if not `to_rows`.
template <bool to_rows>
void gather(const Pattern& pattern, const Points& from, Points& to) {
  std::fill(to.x.begin(), to.x.end(), 0.0F);
  for (std::int64_t i = 0; i < pattern.rows; ++i)
    for (const std::int64_t j : pattern.columns_of(i)) {
      const float* x = from.row(to_rows ? j : i);
      float* sum = to.row(to_rows ? i : j);
      for (std::int64_t c = 0; c < to.dim; ++c) sum[c] += x[c];
    }
}

void centre(Points& points) {
  for (std::int64_t c = 0; c < points.dim; ++c) {
    double sum = 0;
    for (std::int64_t j = 0; j < points.rows; ++j) sum += static_cast<double>(points.row(j)[c]);
    const auto mean = static_cast<float>(sum / static_cast<double>(points.rows));
    for (std::int64_t j = 0; j < points.rows; ++j) points.row(j)[c] -= mean;
  }
}

void normalise(Points& points) {
  for (std::int64_t i = 0; i < points.rows; ++i) onto_sphere(points.row(i), points.dim);
}

}  // namespace

void starting_points(const Pattern& pattern, std::uint64_t seed, Points& q, Points& k) {
  for (std::int64_t j = 0; j < k.rows; ++j) {
    const numbers::Stream stream(seed, numbers::Purpose::descent, static_cast<std::uint64_t>(j));
    for (std::int64_t c = 0; c < k.dim; ++c)
      k.row(j)[c] = static_cast<float>(stream.normal(static_cast<std::uint32_t>(c)));
  }
  normalise(k);
  const bool shared = pattern.nonzeros() > pattern.rows;
  const std::int64_t rounds = shared ? std::max<std::int64_t>(5, 240 / k.dim) : 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    gather<true>(pattern, k, q);
    gather<false>(pattern, q, k);
    centre(k);
    normalise(k);
  }
  gather<true>(pattern, k, q);
  normalise(q);
}

}  // namespace tamis::lab::realisation
