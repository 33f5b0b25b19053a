// Queries and keys stay in unit balls; the logits are then multiplied by a norm product, which is
// to be small. With a target R for it, row i asks for a gap of log(1/ε₁)/R between its support and
// the other keys, and for ratios within ε₂ at that scale. Adam reduces the squared hinges of both,
// one step for all points at a time. The target follows the best product seen: well below it at
// first, just below it at the end.
#include "lab/realise/descent/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/kernels/kernels.h"
#include "lab/realise/descent/neighbours.h"
#include "lab/realise/descent/starting_points.h"

namespace tamis::lab::realisation {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Found by trial on unions of permutations, n = 512 … 4096, dim = 4 … 32; each is within a few
// percent of the best value.
constexpr double first_rate = 0.2;   // length of a step, as a share of a point's typical coordinate
constexpr double last_rate = 0.004;  // final step, as a share of the first
constexpr double rate_power = 0.7;   // exponent with which the step falls
constexpr double first_share = 0.6;  // first target, as a share of the best product
constexpr double last_share = 0.995;  // last target, likewise
// Keys are listed if they are within (1 + list_margin) gaps of the support.
constexpr double list_margin = 0.2;
// Lists are kept for list_life gaps divided by the distance that a point moves in a step.
constexpr double list_life = 4;
constexpr double noise_share = 0.3;   // the least gap to aim at, as a share of a step's length
constexpr double ratio_share = 0.93;  // ratios aim to be within this share of ε₂
// A target that is half way still this many times too large will not become small enough.
constexpr double hopeless = 1.2;
/// Below this product of rows, keys and dimension a step is over before a second thread has begun.
constexpr std::int64_t serial_below = std::int64_t{1} << 19;
/// Logits are f32, so conditions are met with this share to spare. The rest is left to
/// `seal_shortest`.
constexpr double spare = 1e-4;

struct Moving {
  Points at;
  std::vector<float> mean, square;  // Adam's moments
  Moving(std::int64_t rows, std::int64_t dim, const tamis::kernels::Kernels& kernels)
      : at(rows, dim, kernels), mean(at.x.size()), square(at.x.size()) {}
};

/// Scratch memory and sums of one part of the rows.
struct PartScratch {
  std::vector<float> grad_k;
  std::vector<float> grad_q;   // of one row
  std::vector<float> support;  // logits of a row's support, then their derivatives
  double product = 0;
};

/// Step length and target share when a share p = 0 … 1 of the steps is done.
struct Schedule {
  double p;
  double rate;
  double share;
  Schedule(double p_, std::int64_t dim)
      : p(p_),
        rate(first_rate / std::sqrt(static_cast<double>(dim)) *
             std::max(last_rate, std::pow(1 - p, rate_power))),
        share(first_share + (last_share - first_share) * std::min(1.0, 1.15 * p)) {}
};

class Descent {
 public:
  Descent(const Pattern& pattern, const Conditions& conditions, const DescentOptions& options)
      : pattern_(pattern),
        conditions_(conditions),
        options_(options),
        kernel_(kernels::lab_kernels().descent),
        threads_(pattern.rows * pattern.cols * options.dim < serial_below ? 1 : options.threads),
        gap_(conditions.weak ? 1.0 : -std::log(conditions.eps1)),
        q_(pattern.rows, options.dim, tamis::kernels::kernels()),
        k_(pattern.cols, options.dim, tamis::kernels::kernels()),
        neighbours_(pattern, conditions.causal),
        column_(pattern.column.begin(), pattern.column.end()),
        log_(pattern.value.size()),
        floor_(static_cast<std::size_t>(pattern.rows)),
        most_(floor_.size()),
        scale_(floor_.size()),
        part_(static_cast<std::size_t>(neighbours_.parts())) {
    std::transform(pattern.value.begin(), pattern.value.end(), log_.begin(),
                   [](double value) { return static_cast<float>(std::log(value)); });
    const auto widest = static_cast<std::size_t>(figures_of(pattern).most_per_row);
    for (PartScratch& part : part_) {
      part.grad_k.resize(k_.at.x.size());
      part.grad_q.resize(static_cast<std::size_t>(k_.at.stride));
      part.support.resize(2 * widest);
    }
  }

  std::optional<Candidate> run(const ProgressCallback& progress);

 private:
  [[nodiscard]] std::span<const std::int32_t> support(std::int64_t row) const {
    const std::int64_t first = pattern_.row_start[row];
    return {column_.data() + first, static_cast<std::size_t>(pattern_.row_start[row + 1] - first)};
  }
  /// The logits of a row's support, written to the scratch memory of its part.
  std::span<float> support_logits(std::int64_t part, std::int64_t row) {
    const std::span<const std::int32_t> keys = support(row);
    float* s = part_[part].support.data();
    kernel_.dots(q_.at.row(row), k_.at.x.data(), k_.at.stride, keys.data(),
                 static_cast<int>(keys.size()), s);
    return {s, keys.size()};
  }
  template <class Body>
  void for_each_row(Body&& body) {
    core::parallel_for(neighbours_.parts(), threads_, [&](std::int64_t part, int) {
      for (std::int64_t i = neighbours_.first_row(part); i < neighbours_.first_row(part + 1); ++i)
        body(part, i);
    });
  }

  void begin();
  [[nodiscard]] double attainable(const Schedule& now) const;
  double refresh(double target);
  [[nodiscard]] double scale_of(std::int64_t row, std::span<const float> s) const;
  void move(double target, double rate, double correction);
  void move_query(std::int64_t part, std::int64_t row, double target, double rate,
                  double correction);
  void pull_ratios(std::int64_t row, std::span<const float> s, float target, float* pull) const;
  void keep();
  [[nodiscard]] Candidate kept() const;

  const Pattern& pattern_;
  const Conditions& conditions_;
  const DescentOptions& options_;
  const kernels::DescentKernels& kernel_;
  const int threads_;
  const double gap_;  // between support and other keys, in logits of the witness
  Moving q_, k_;
  Neighbours neighbours_;
  std::vector<std::int32_t> column_;
  std::vector<float> log_;
  // Per row: logits below the floor are not listed; the largest listed logit.
  std::vector<float> floor_, most_;
  std::vector<double> scale_;  // per row: the factor that its query needs
  std::vector<PartScratch> part_;
  std::vector<float> best_q_, best_k_;
  std::vector<double> best_scale_;
};

void Descent::begin() {
  if (options_.start == nullptr) {
    starting_points(pattern_, options_.seed, q_.at, k_.at);
    return;
  }
  q_.at.assign(options_.start->q);
  k_.at.assign(options_.start->k);
  float longest = 0;
  for (std::int64_t j = 0; j < k_.at.rows; ++j)
    longest = std::max(longest, squared_length(k_.at.row(j), k_.at.dim));
  if (longest > 0)
    scale_by(k_.at.x.data(), static_cast<std::int64_t>(k_.at.x.size()), 1 / std::sqrt(longest));
  for (std::int64_t i = 0; i < q_.at.rows; ++i) onto_sphere(q_.at.row(i), q_.at.dim);
}

/// The target before any iterate meets the conditions. Steps act as noise: a gap much smaller than
/// a step cannot be kept, so the target falls as steps shorten. Early on, keys should move as far
/// apart as they can; a rule of thumb for their angle gives that distance.
double Descent::attainable(const Schedule& now) const {
  const double target =
      gap_ / (noise_share * now.rate * std::sqrt(static_cast<double>(options_.dim)));
  if (now.p > 0.3) return target;
  const auto n = static_cast<double>(pattern_.cols);
  const double angle = 2 * std::pow(n, -1 / std::max(1.0, static_cast<double>(options_.dim - 1)));
  return std::min(target, 3 * gap_ / (1 - std::cos(std::min(angle, 1.5))));
}

std::optional<Candidate> Descent::run(const ProgressCallback& progress) {
  begin();
  const std::int64_t steps = options_.steps;
  double target = attainable(Schedule(0, options_.dim));
  double best = infinity;
  std::int64_t better_at = 0;
  std::int64_t next_refresh = 0;
  double decay1 = 1;
  double decay2 = 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Schedule now(static_cast<double>(step) / static_cast<double>(steps), options_.dim);
    if (step >= next_refresh || step + 1 == steps) {
      const double far =
          list_life * gap_ / (target * now.rate * std::sqrt(static_cast<double>(options_.dim)));
      next_refresh = step + static_cast<std::int64_t>(std::clamp(far, 1.0, 20.0));
      const double product = refresh(target);
      if (product < best) {
        best = product;
        better_at = step;
        keep();
        if (best <= options_.enough) break;
      }
      // If nothing has improved for long, a less ambitious target is set.
      const double share = step - better_at > 400 ? 1 - 0.4 * (1 - now.share) : now.share;
      target = std::min(best * share, attainable(now));
      if (options_.enough > 0 && now.p > 0.5 && target > hopeless * options_.enough) break;
    }
    decay1 *= 0.9;
    decay2 *= 0.99;
    move(target, now.rate / (1 - decay1), 1 / (1 - decay2));
    if (progress && !progress(static_cast<double>(step + 1), static_cast<double>(steps)))
      core::fail(Code::cancelled, "the descent was cancelled after {} of {} steps", step + 1,
                 steps);
  }
  if (best == infinity) return std::nullopt;
  return kept();
}

/// Makes new neighbour lists; returns the norm product that the present points would need.
double Descent::refresh(double target) {
  const auto wide = static_cast<float>((1 + list_margin) * gap_ / target);
  for_each_row([&](std::int64_t part, std::int64_t i) {
    const std::span<const float> s = support_logits(part, i);
    floor_[i] = *std::min_element(s.begin(), s.end()) - wide;
  });
  neighbours_.refresh(q_.at, k_.at, floor_, most_, threads_);
  for (PartScratch& part : part_) part.product = 0;
  for_each_row([&](std::int64_t part, std::int64_t i) {
    scale_[i] = scale_of(i, support_logits(part, i));
    const double length = std::sqrt(static_cast<double>(squared_length(q_.at.row(i), q_.at.dim)));
    part_[part].product = std::max(part_[part].product, scale_[i] * length);
  });
  double product = 0;
  for (const PartScratch& part : part_) product = std::max(product, part.product);
  return product;
}

/// The spread of the logits of a support, multiplied by a factor, less log A.
double spread_at(double factor, std::span<const float> s, const float* log) {
  double low = infinity;
  double high = -infinity;
  for (std::size_t t = 0; t < s.size(); ++t) {
    const double u = factor * static_cast<double>(s[t]) - static_cast<double>(log[t]);
    low = std::min(low, u);
    high = std::max(high, u);
  }
  return high - low;
}

/// The least factor for the query of a row that meets its conditions, or infinity if there is none.
/// Above 64 nonzeros only the least factor that meets (23) is tried, and the result is infinity if
/// that does not meet (24).
double Descent::scale_of(std::int64_t row, std::span<const float> s) const {
  const float least = *std::min_element(s.begin(), s.end());
  const double gap = static_cast<double>(least) - static_cast<double>(most_[row]);
  if (!(gap > 0)) return infinity;
  double low = gap_ * (1 + spare) / gap;
  if (conditions_.weak) return low;
  double high = infinity;
  const float* log = log_.data() + pattern_.row_start[row];
  const double eps2 = conditions_.eps2 * (1 - spare);
  if (s.size() > 64)
    return spread_at(low, s, log) < eps2 ? low : infinity;  // all pairs would take too long
  for (std::size_t a = 0; a < s.size(); ++a)
    for (std::size_t b = 0; b < s.size(); ++b) {
      const double apart = static_cast<double>(s[a]) - static_cast<double>(s[b]);
      const double ratio = static_cast<double>(log[a]) - static_cast<double>(log[b]);
      if (apart > 0) {
        low = std::max(low, (ratio - eps2) / apart);
        high = std::min(high, (ratio + eps2) / apart);
      } else if (apart == 0 && std::abs(ratio) >= eps2) {
        return infinity;
      }
    }
  return low < high ? low : infinity;
}

/// Makes one step of all points.
void Descent::move(double target, double rate, double correction) {
  core::parallel_for(neighbours_.parts(), threads_, [&](std::int64_t part, int) {
    std::fill(part_[part].grad_k.begin(), part_[part].grad_k.end(), 0.0F);
    for (std::int64_t i = neighbours_.first_row(part); i < neighbours_.first_row(part + 1); ++i)
      move_query(part, i, target, rate, correction);
  });
  constexpr std::int64_t block = 64;
  const std::int64_t stride = k_.at.stride;
  core::parallel_for((k_.at.rows + block - 1) / block, threads_, [&](std::int64_t item, int) {
    const std::int64_t first = item * block;
    const std::int64_t rows = std::min(block, k_.at.rows - first);
    float* grad = part_[0].grad_k.data() + first * stride;
    for (std::size_t part = 1; part < part_.size(); ++part) {
      const float* more = part_[part].grad_k.data() + first * stride;
      for (std::int64_t c = 0; c < rows * stride; ++c) grad[c] += more[c];
    }
    kernel_.adam(k_.at.row(first), grad, k_.mean.data() + first * stride,
                 k_.square.data() + first * stride, rows * stride, static_cast<float>(rate),
                 static_cast<float>(correction));
    for (std::int64_t j = first; j < first + rows; ++j) into_ball(k_.at.row(j), stride);
  });
}

/// Moves one query and adds the derivatives of its row with respect to the keys to the part's
/// gradient.
void Descent::move_query(std::int64_t part, std::int64_t row, double target, double rate,
                         double correction) {
  const std::int64_t stride = k_.at.stride;
  const std::span<const std::int32_t> keys = support(row);
  const std::span<const float> s = support_logits(part, row);
  const std::span<const std::int32_t> near = neighbours_.of(part, row);
  PartScratch& scratch = part_[part];
  float* pull = scratch.support.data() + s.size();
  float* q = q_.at.row(row);
  float* grad_q = scratch.grad_q.data();
  std::fill(pull, pull + s.size(), 0.0F);
  std::fill(grad_q, grad_q + stride, 0.0F);
  const auto least = std::min_element(s.begin(), s.end());
  if (!conditions_.weak && s.size() > 1) pull_ratios(row, s, static_cast<float>(target), pull);
  pull[least - s.begin()] -=
      kernel_.push(q, k_.at.x.data(), stride, near.data(), static_cast<int>(near.size()),
                   *least - static_cast<float>(gap_ / target), static_cast<float>(target), grad_q,
                   scratch.grad_k.data());
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (pull[t] == 0) continue;
    const float* key = k_.at.row(keys[t]);
    float* grad_k = scratch.grad_k.data() + keys[t] * stride;
    for (std::int64_t c = 0; c < stride; ++c) {
      grad_q[c] += pull[t] * key[c];
      grad_k[c] += pull[t] * q[c];
    }
  }
  kernel_.adam(q, grad_q, q_.mean.data() + row * stride, q_.square.data() + row * stride, stride,
               static_cast<float>(rate), static_cast<float>(correction));
  into_ball(q, stride);
}

/// Adds the derivative of the hinge of (24) to `pull`: logits less log A may deviate from their
/// middle by ε₂/2 at most, reduced by ratio_share.
void Descent::pull_ratios(std::int64_t row, std::span<const float> s, float target,
                          float* pull) const {
  const float* log = log_.data() + pattern_.row_start[row];
  float high = -std::numeric_limits<float>::infinity();
  float low = -high;
  for (std::size_t t = 0; t < s.size(); ++t) {
    const float u = target * s[t] - log[t];
    high = std::max(high, u);
    low = std::min(low, u);
  }
  const auto half = static_cast<float>(0.5 * ratio_share * conditions_.eps2);
  const float middle = 0.5F * (high + low);
  if (high - middle <= half) return;
  for (std::size_t t = 0; t < s.size(); ++t) {
    const float u = target * s[t] - log[t] - middle;
    if (u > half) pull[t] += 2 * (u - half) / target;
    if (u < -half) pull[t] += 2 * (u + half) / target;
  }
}

void Descent::keep() {
  best_q_ = q_.at.x;
  best_k_ = k_.at.x;
  best_scale_ = scale_;
}

Candidate Descent::kept() const {
  Candidate result{pattern_.rows, pattern_.cols, options_.dim, {}, {}};
  result.q.reserve(static_cast<std::size_t>(pattern_.rows * options_.dim));
  result.k.reserve(static_cast<std::size_t>(pattern_.cols * options_.dim));
  for (std::int64_t i = 0; i < q_.at.rows; ++i)
    for (std::int64_t c = 0; c < q_.at.dim; ++c)
      result.q.push_back(static_cast<double>(best_q_[i * q_.at.stride + c]) * best_scale_[i]);
  for (std::int64_t j = 0; j < k_.at.rows; ++j)
    for (std::int64_t c = 0; c < k_.at.dim; ++c)
      result.k.push_back(static_cast<double>(best_k_[j * k_.at.stride + c]));
  return result;
}

}  // namespace

std::optional<Candidate> descent(const Pattern& pattern, const Conditions& conditions,
                                 const DescentOptions& options, const ProgressCallback& progress) {
  return Descent(pattern, conditions, options).run(progress);
}

}  // namespace tamis::lab::realisation
