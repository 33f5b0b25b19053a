#include "lab/experiments/replicates.h"

#include <cmath>

#include "lab/numbers/random.h"
#include "lab/stats/series.h"

namespace tamis::lab::experiments {
namespace {

/// The first row of a range of the random stream that no token, query or weight of a
/// synthetic head uses.
constexpr std::uint64_t seed_rows = std::uint64_t{4} << 40;

}  // namespace

std::uint64_t replicate_seed(std::uint64_t seed, std::int64_t replicate) {
  return numbers::Stream(seed, numbers::Purpose::sweep,
                         seed_rows + static_cast<std::uint64_t>(replicate))
             .bits(0) >>
         11;
}

std::uint64_t seed_of(const Json& parameters) {
  return replicate_seed(parameters.at("seed"), parameters.at("replicate"));
}

void Growth::add(std::int64_t replicate, double n, double log_value) {
  Points& points = replicates_[replicate];
  points.log_n.push_back(std::log(n));
  points.log_value.push_back(log_value);
}

std::optional<stats::Estimate> Growth::exponent(double confidence) const {
  std::vector<double> slopes;
  for (const auto& [replicate, points] : replicates_) {
    const stats::Line line = stats::least_squares(points.log_n, points.log_value);
    if (line.sxx > 0) slopes.push_back(line.slope);
  }
  if (slopes.empty()) return std::nullopt;
  return stats::mean_estimate(slopes, confidence);
}

}  // namespace tamis::lab::experiments
