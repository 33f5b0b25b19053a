#include "lab/profile/k_eps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "attention/rounding.h"
#include "kernels/kernels.h"
#include "lab/stats/sum.h"

namespace tamis::lab::profiling {
namespace {

constexpr double u = attention::unit_roundoff;

/// Bound on the relative error of a weight 2^t in f32, 0 ≥ t ≥ −depth: t is rounded once, and exp2
/// has an error of its own. The factor covers products of errors, which are below 10⁻⁵ each.
double weight_error(double depth) {
  return 1.0001 * (u * std::numbers::ln2 * depth + tamis::kernels::exp2_relative_error);
}

/// Compares the dropped mass T of a row with eps. With K the mass kept, T ≤ eps·(T + K)
/// is equivalent to T·(1 − eps) ≤ eps·K. Both sides are known up to relative errors and
/// an absolute one.
enum class Verdict { too_much, fits, open };
Verdict judge(double dropped, double kept, double eps, double dropped_error, double kept_error,
              double absolute) {
  const double e = eps * (1 + eps_slack);
  const double left = dropped * (1 - e);
  const double right = kept * e;
  if (left * (1 + dropped_error) + absolute <= right * (1 - kept_error)) return Verdict::fits;
  if (left * (1 - dropped_error) - absolute > right * (1 + kept_error)) return Verdict::too_much;
  return Verdict::open;
}

/// The values of k_eps, low … high, that the rounding errors of f32 weights do not exclude.
struct Range {
  std::int64_t low;
  std::int64_t high;
  bool bounded;  // false if the boundary lies below depth_limit
};

/// Keys this far below the boundary weigh at most 2^-24 of it each, so their errors are counted as
/// an absolute error.
constexpr double far_below = 24;

Range from_f32(std::int64_t n, Ranking& ranking, double eps) {
  const double total = ranking.total();
  const auto keys = static_cast<double>(n);
  // A weight far below has at most the error of the lightest weight that exp2 does not flush to 0.
  // The f64 sums have an error below n·2^-52 of the total.
  const auto absolute = [&](double depth) {
    return keys * (std::ldexp(1.0, -static_cast<int>(depth + far_below)) * weight_error(126) +
                   0x1p-125 + 0x1p-52 * total);
  };
  // Below this mass too little is certainly kept, whatever the bucket, so the search
  // can start there.
  const double e = eps * (1 + eps_slack);
  const double surely_short =
      total * (1 - e) - 4 * e * total * weight_error(depth_limit + far_below) - 2 * absolute(0);
  std::int64_t k = 0;
  int bucket = 0;
  for (int round = 0; round < 2; ++round) {  // sorting the bucket moves mass forward within it
    const std::int64_t block =
        ranking.first_block([&](double mass) { return mass >= surely_short; });
    k = std::max(32 * std::max<std::int64_t>(block - 1, 0), ranking.start(bucket));
    if (round == 1) break;
    bucket = ranking.bucket_at(k);
    if (ranking.is_capped(bucket)) return {k, n, false};
    ranking.sort(bucket);
  }

  Range range{0, n, true};
  double kept = ranking.mass(k, bucket);
  for (; k < n; ++bucket) {
    if (ranking.is_capped(bucket)) return {range.low, n, false};
    ranking.sort(bucket);
    const double kept_error = weight_error(ranking.depth_above(bucket));
    const double dropped_error = weight_error(ranking.depth_above(bucket) + far_below);
    const double either = absolute(ranking.depth_below(bucket));
    while (k < ranking.start(bucket + 1)) {
      kept += ranking.weight(k++);
      const Verdict found = k == n
                                ? Verdict::fits
                                : judge(total - kept, kept, eps, dropped_error, kept_error, either);
      if (found != Verdict::too_much && range.low == 0) range.low = k;
      if (found == Verdict::fits) return {range.low, k, true};
    }
  }
  return range;
}

/// Returns k_eps from f64 weights, or 0 if they do not decide it either.
std::int64_t from_f64(const KEpsRow& row, const Ranking& ranking, const Range& range, double eps) {
  constexpr std::int64_t some = 256;
  double w[some];
  const int first = ranking.bucket_at(range.low - 1);
  const int last = ranking.bucket_at(range.high - 1);
  float* candidates = row.scratch.weights;
  std::int64_t count = 0;
  stats::Sum above;
  stats::Sum below;
  for (std::int64_t j = 0; j < row.n; j += some) {
    const std::int64_t keys = std::min(some, row.n - j);
    row.kernels.weigh_f64(row.s + j, keys, row.top, w);
    double heavy = 0;
    double light = 0;
    for (std::int64_t i = 0; i < keys; ++i) {
      const int b = row.scratch.bucket[j + i];
      heavy += b < first ? w[i] : 0.0;
      light += b > last ? w[i] : 0.0;
      candidates[count] = row.s[j + i];
      count += b >= first && b <= last ? 1 : 0;
    }
    above.add(heavy);
    below.add(light);
  }
  std::sort(candidates, candidates + count, std::greater<>());

  // Covers chains of at most 256 additions, compensated sums of these, and the weights' own error.
  constexpr double error = (some + 8) * 0x1p-53 + 0x1p-50;
  stats::Sum kept = above;
  stats::Sum dropped = below;
  for (std::int64_t j = 0; j < count; j += some) {
    const std::int64_t keys = std::min(some, count - j);
    row.kernels.weigh_f64(candidates + j, keys, row.top, w);
    for (std::int64_t i = 0; i < keys; ++i) kept.add(w[i]);
  }
  for (std::int64_t k = ranking.start(first) + count; k > 0; --k) {
    // Is k − 1 enough?
    const std::int64_t j = k - 1 - ranking.start(first);
    if (j < 0) return 0;
    row.kernels.weigh_f64(candidates + j, 1, row.top, w);
    kept.add(-w[0]);
    dropped.add(w[0]);
    const Verdict found = k == 1 ? Verdict::too_much
                                 : judge(dropped.value(), kept.value(), eps, error, error,
                                         0x1p-50 * 0x1p-50 * kept.value());
    if (found == Verdict::too_much) return k;
    if (found == Verdict::open) return 0;
  }
  return 0;
}

}  // namespace

std::int64_t k_eps(const KEpsRow& row, Ranking& ranking, double eps) {
  const Range range = from_f32(row.n, ranking, eps);
  if (range.low == range.high) return range.low;
  if (range.bounded)
    if (const std::int64_t k = from_f64(row, ranking, range, eps); k > 0) return k;
  return reference_k_eps({row.s, static_cast<std::size_t>(row.n)}, eps);
}

}  // namespace tamis::lab::profiling
