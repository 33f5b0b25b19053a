#include "lab/realise/jl/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lab/kernels/kernels.h"

namespace tamis::lab::realisation {
namespace {

// The kinds of normals of one draw, each with its own counters. Kind 0 is the stream of gamma
// variates.
constexpr std::uint32_t column_kind = 1;
constexpr std::uint32_t direction_kind = 2;

/// A residual below this share of ‖b‖² is left to the completion, because f32 would not know its
/// direction well.
constexpr float least_residual = 1e-3F;
/// f32 logits are sums of min(m, n − m) products of B's entries and numbers of size 1; their error
/// is far below a thousandth of B's largest entry.
constexpr float unsure_share = 1e-3F;
constexpr std::int64_t most_block = 32;  // rows checked together

}  // namespace

JlDraw::JlDraw(const JlTarget& target)
    : target_(target),
      stride_((target.n + 63) / 64 * 64),
      log_a_(target.log_a.begin(), target.log_a.end()),
      unsure_(target.b32.empty()
                  ? 0
                  : unsure_share * *std::max_element(target.b32.begin(), target.b32.end())),
      scratch_(static_cast<std::size_t>(4 * stride_)),
      norm_(static_cast<std::size_t>(stride_)),
      key_(static_cast<std::size_t>(target.n)) {
  in_doubt_.reserve(static_cast<std::size_t>(2 * target.n));
  least_.resize(static_cast<std::size_t>(target.n));
  usual_.resize(static_cast<std::size_t>(target.n));
}

void JlDraw::prepare(std::int64_t m, const JlPlan& plan) {
  const std::int64_t n = target_.n;
  m_ = m;
  rank_ = working_rank(n, m);
  complement_ = rank_ != m;
  plan_ = plan;
  const std::int64_t rows = std::min(plan.rows, most_rows(n, m, plan.columns));
  plan_.rows = rows;
  range_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rank_) * stride_));
  kernel_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rows) * stride_));
  coefficients_.resize(static_cast<std::size_t>(most_block * (rank_ + rows + 1)));
  const auto rank = static_cast<double>(m);
  const double c = std::max(0.0, (1 - rank / static_cast<double>(n)) / rank);
  for (std::int64_t i = 0; i < n; ++i) {
    const JlTarget::Row row = target_.row(i);
    // The largest of N normals is about √(2·log N) standard deviations.
    least_[i] = row.others < 1
                    ? 1e30F
                    : static_cast<float>(target_.log_eps1 -
                                         std::sqrt(row.square * c * 2 * std::log1p(row.others)));
  }
  std::fill(norm_.begin(), norm_.end(), 0.0F);
  known_ = 0;
  order_rows(n);
  usual_ = order_;
}

void JlDraw::fill(float* to, std::uint32_t kind, std::int64_t index) const {
  const std::int64_t blocks = stride_ / 4;
  kernels::lab_kernels().jl.normals(seed_, (static_cast<std::uint32_t>(purpose_) << 16) | kind, id_,
                                    static_cast<std::uint32_t>(index * blocks), blocks, to);
  std::fill(to + target_.n, to + stride_, 0.0F);
}

/// Orders rows by the slack to expect of their logits, given norm_, the squared norms of the known
/// part of P relative to their mean. The first `wanted` rows of order_ are in place, the least
/// slack first.
void JlDraw::order_rows(std::int64_t wanted) {
  const std::int64_t n = target_.n;
  const float side = complement_ ? -static_cast<float>(rank_) / static_cast<float>(m_) : 1.0F;
  for (std::int64_t i = 0; i < n; ++i) {
    float least = 1e30F;
    float low = 1e30F;
    float high = -1e30F;
    for (std::int64_t e = target_.start[i]; e < target_.start[i + 1]; ++e) {
      const float logit = target_.b32[e] * (1 + side * norm_[target_.column[e]]);
      least = std::min(least, logit);
      low = std::min(low, logit - log_a_[e]);
      high = std::max(high, logit - log_a_[e]);
    }
    key_[i] = std::min(least + least_[i], static_cast<float>(target_.eps2) - (high - low));
  }
  const auto before = [this](std::int64_t a, std::int64_t b) {
    return key_[a] != key_[b] ? key_[a] < key_[b] : a < b;
  };
  if (wanted >= n) {
    order_.resize(static_cast<std::size_t>(n));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), before);
    return;
  }
  order_.clear();  // few are wanted, so a short sorted list is kept
  for (std::int64_t i = 0; i < n; ++i) {
    if (static_cast<std::int64_t>(order_.size()) == wanted) {
      if (!(key_[i] < key_[order_.back()])) continue;
      order_.pop_back();
    }
    order_.insert(std::upper_bound(order_.begin(), order_.end(), i, before), i);
  }
}

bool JlDraw::draw(std::uint64_t seed, numbers::Purpose purpose, std::uint64_t draw) {
  seed_ = seed;
  purpose_ = purpose;
  id_ = (static_cast<std::uint64_t>(m_) << 40) | draw;
  used_ = 0;
  known_ = plan_.columns;
  taken_ = 0;
  slack_ = std::numeric_limits<float>::infinity();
  in_doubt_.clear();
  const std::int64_t* order = usual_.data();
  if (known_ > 0) {
    for (std::int64_t c = 0; c < known_; ++c) fill(vector(range_, c), column_kind, c);
    gram_.resize(static_cast<std::size_t>(rank_ * rank_));
    for (std::int64_t i = 0; i < known_; i += 16)
      kernels::lab_kernels().jl.dots(vector(range_, i), std::min<std::int64_t>(16, known_ - i),
                                     range_.data(), std::min(known_, i + 16), stride_, stride_,
                                     gram_.data() + i * known_, known_);
    if (!columns_.factor(gram_.data(), known_, known_))
      return false;  // dependent columns: probability zero
    if (plan_.rows > 0) {
      std::fill(norm_.begin(), norm_.end(), 0.0F);
      for (std::int64_t c = 0; c < known_; ++c) {
        const float* g = vector(range_, c);
        for (std::int64_t j = 0; j < stride_; ++j) norm_[j] += g[j] * g[j];
      }
      const float mean = static_cast<float>(known_);
      const float each = 1 / static_cast<float>(rank_);
      for (float& x : norm_) x = (x - mean) * each;
      order_rows(plan_.rows);
      order = order_.data();
    }
  }
  for (std::int64_t s = 0; s < plan_.rows; ++s)
    if (!next_row(order[s])) return false;
  return complete();
}

/// Draws P·b of one row given what is known; returns false if the row fails. Costs one column of
/// normals and six multiply-adds per element of each known vector.
bool JlDraw::next_row(std::int64_t row) {
  const kernels::JlKernels& jl = kernels::lab_kernels().jl;
  const std::int64_t n = target_.n;
  float* known = scratch_.data();      // the part of P·b that is already known
  float* direction = known + stride_;  // û before it is scaled
  float* residual = direction + stride_;
  float* logits = residual + stride_;
  float* a = coefficients_.data();  // two rows: of b, then of the direction
  float* of_direction = a + known_;
  float* of_kernel = of_direction + known_;  // of the direction, then of b

  std::fill(known, known + stride_, 0.0F);
  std::fill(residual, residual + stride_, 0.0F);
  fill(direction, direction_kind, taken_);
  std::fill(a, a + known_, 0.0F);
  std::fill(of_kernel + taken_, of_kernel + 2 * taken_, 0.0F);
  float square = 0;
  for (std::int64_t e = target_.start[row]; e < target_.start[row + 1]; ++e) {
    const float b = target_.b32[e];
    const std::int64_t j = target_.column[e];
    residual[j] = b;
    square += b * b;
    for (std::int64_t c = 0; c < known_; ++c) a[c] += b * range_[c * stride_ + j];
    for (std::int64_t c = 0; c < taken_; ++c) of_kernel[taken_ + c] -= b * kernel_[c * stride_ + j];
  }
  if (known_ > 0) {
    jl.dots(range_.data(), known_, direction, 1, stride_, stride_, of_direction, 1);
    if (plan_.columns > 0) {
      columns_.solve(a);
      columns_.solve(of_direction);
    }
    for (std::int64_t c = 0; c < known_; ++c) of_direction[c] = -of_direction[c];
    jl.mix(a, known_, 2, range_.data(), stride_, known_, stride_, known, stride_);
    for (std::int64_t j = 0; j < stride_; ++j) residual[j] -= known[j];
  }
  if (taken_ > 0) {
    jl.dots(kernel_.data(), taken_, direction, 1, stride_, stride_, of_kernel, 1);
    for (std::int64_t c = 0; c < taken_; ++c) of_kernel[c] = -of_kernel[c];
    jl.mix(of_kernel, taken_, 2, kernel_.data(), stride_, taken_, stride_, direction, stride_);
  }
  float products[4];  // of direction and residual with each other
  jl.dots(direction, 2, direction, 2, stride_, stride_, products, 2);
  const float residual_square = products[3];
  if (!(residual_square > least_residual * square)) return true;  // left to the completion

  const std::int64_t t = taken_;
  const double alpha =
      beta(0.5 * static_cast<double>(rank_ - known_), 0.5 * static_cast<double>(n - rank_ - t));
  const auto size = std::sqrt(static_cast<double>(residual_square));
  const double along = static_cast<double>(products[1]) / residual_square;
  const double away = std::sqrt(std::max(1e-30, products[0] - along * products[1]));
  const double in = std::sqrt(alpha);
  const double out = std::sqrt(1 - alpha);
  const float f[2] = {static_cast<float>(out / away),
                      static_cast<float>(in / size - out / away * along)};
  const float h[2] = {static_cast<float>(-in / away),
                      static_cast<float>(out / size + in / away * along)};

  const auto scale = static_cast<float>(static_cast<double>(n) / static_cast<double>(m_));
  const float side = complement_ ? -scale : scale;
  const auto moved = static_cast<float>(size * in);
  const float mixed[3] = {side, side * moved * f[0], side * moved * f[1]};
  std::fill(logits, logits + stride_, 0.0F);
  if (complement_)
    for (std::int64_t e = target_.start[row]; e < target_.start[row + 1]; ++e)
      logits[target_.column[e]] = scale * target_.b32[e];
  jl.mix(mixed, 3, 1, known, stride_, 3, stride_, logits, stride_);
  if (!holds(row, logits)) return false;

  float* in_range = vector(range_, known_);
  float* in_kernel = vector(kernel_, taken_);
  std::fill(in_range, in_range + stride_, 0.0F);
  std::fill(in_kernel, in_kernel + stride_, 0.0F);
  jl.mix(f, 2, 1, direction, stride_, 2, stride_, in_range, stride_);
  jl.mix(h, 2, 1, direction, stride_, 2, stride_, in_kernel, stride_);
  ++known_;
  ++taken_;
  return true;
}

/// Draws the rest of the range as Gaussian columns projected off everything known, then checks
/// every row, those most likely to fail first.
bool JlDraw::complete() {
  const kernels::JlKernels& jl = kernels::lab_kernels().jl;
  const std::int64_t n = target_.n;
  const std::int64_t left = rank_ - known_;
  gram_.resize(static_cast<std::size_t>(rank_ * rank_));
  if (left > 0) {
    float* fresh = vector(range_, known_);
    for (std::int64_t c = 0; c < left; ++c)
      fill(vector(range_, known_ + c), column_kind, known_ + c);
    if (known_ > 0) {
      jl.dots(fresh, left, range_.data(), known_, stride_, stride_, gram_.data(), known_);
      if (plan_.columns > 0) columns_.solve(gram_.data(), left, known_);
      for (std::int64_t i = 0; i < left * known_; ++i) gram_[i] = -gram_[i];
      jl.mix(gram_.data(), known_, left, range_.data(), stride_, known_, stride_, fresh, stride_);
    }
    if (taken_ > 0) {
      jl.dots(fresh, left, kernel_.data(), taken_, stride_, stride_, gram_.data(), taken_);
      for (std::int64_t i = 0; i < left * taken_; ++i) gram_[i] = -gram_[i];
      jl.mix(gram_.data(), taken_, left, kernel_.data(), stride_, taken_, stride_, fresh, stride_);
    }
    for (std::int64_t i = 0; i < left; i += 16)
      jl.dots(fresh + i * stride_, std::min<std::int64_t>(16, left - i), fresh,
              std::min(left, i + 16), stride_, stride_, gram_.data() + i * left, left);
    if (!completion_.factor(gram_.data(), left, left))
      return false;  // dependent columns: probability zero
  }
  // Estimates P_jj, with Gram matrices taken as multiples of the identity.
  std::fill(norm_.begin(), norm_.end(), 0.0F);
  for (std::int64_t c = 0; c < rank_; ++c) {
    const float* g = vector(range_, c);
    const bool gaussian = c < plan_.columns || c >= known_;
    const float each =
        gaussian ? 1 / static_cast<float>(c < plan_.columns ? n : n - known_ - taken_) : 1.0F;
    for (std::int64_t j = 0; j < stride_; ++j) norm_[j] += each * g[j] * g[j];
  }
  const auto inverse = static_cast<float>(static_cast<double>(n) /
                                          static_cast<double>(std::max<std::int64_t>(1, rank_)));
  for (float& x : norm_) x = x * inverse - 1;
  std::int64_t sorted = std::min<std::int64_t>(64, n);
  order_rows(sorted);
  std::int64_t block = 4;
  for (std::int64_t done = 0; done < n;) {
    if (done == sorted && sorted < n) {
      order_rows(n);
      sorted = n;
    }
    const std::int64_t count = std::min({block, sorted - done});
    if (!check_block(order_.data() + done, count)) return false;
    done += count;
    block = std::min(2 * block, most_block);
  }
  return true;
}

bool JlDraw::check_block(const std::int64_t* rows, std::int64_t count) {
  const std::int64_t n = target_.n;
  const double scale = static_cast<double>(n) / static_cast<double>(m_);
  const auto side = static_cast<float>(complement_ ? -scale : scale);
  block_.assign(static_cast<std::size_t>(count * stride_), 0.0F);
  coefficients_.resize(static_cast<std::size_t>(most_block * (rank_ + plan_.rows + 1)));
  float* const a = coefficients_.data();
  // Vectors are far apart in memory, so they are used one after the other.
  for (std::int64_t c = 0; c < rank_; ++c) {
    const float* from = vector(range_, c);
    for (std::int64_t r = 0; r < count; ++r) {
      float sum = 0;
      for (std::int64_t e = target_.start[rows[r]]; e < target_.start[rows[r] + 1]; ++e)
        sum += target_.b32[e] * from[target_.column[e]];
      a[r * rank_ + c] = sum;
    }
  }
  if (plan_.columns > 0) columns_.solve(a, count, rank_);
  if (known_ < rank_) completion_.solve(a + known_, count, rank_);
  for (std::int64_t i = 0; i < count * rank_; ++i) a[i] *= side;
  if (complement_)
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t e = target_.start[rows[r]]; e < target_.start[rows[r] + 1]; ++e)
        block_[r * stride_ + target_.column[e]] = static_cast<float>(scale) * target_.b32[e];
  kernels::lab_kernels().jl.mix(coefficients_.data(), rank_, count, range_.data(), stride_, rank_,
                                stride_, block_.data(), stride_);
  for (std::int64_t r = 0; r < count; ++r) {
    if (!holds(rows[r], block_.data() + r * stride_)) return false;
  }
  return true;
}

bool JlDraw::holds(std::int64_t row, float* logits) {
  const float slack = row_slack(target_, row, logits);
  slack_ = std::min(slack_, slack);
  if (!(slack > unsure_)) in_doubt_.push_back(row);
  return slack > 0;
}

/// A gamma variate by Marsaglia and Tsang's method; shape ≥ ½.
double JlDraw::gamma(double shape) {
  const numbers::Stream stream(seed_, purpose_, id_);
  if (shape < 1) {  // Γ(s) has the law of Γ(s + 1)·U^(1/s)
    const double lowered = gamma(shape + 1);
    return lowered * std::pow(stream.uniform(used_++), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    used_ += used_ % 2;  // a normal is made from a pair of words
    const double x = stream.normal(used_);
    used_ += 2;
    const double v = 1 + c * x;
    const double u = stream.uniform(used_++);
    if (v > 0 && std::log(u) < 0.5 * x * x + d * (1 - v * v * v + std::log(v * v * v)))
      return d * v * v * v;
  }
}

double JlDraw::beta(double a, double b) {
  const double x = gamma(a);
  const double y = gamma(b);
  return x / (x + y);
}

Projection JlDraw::projection() const {
  Projection p{target_.n, m_, complement_, stride_, range_};
  p.vectors.resize(static_cast<std::size_t>(rank_ * stride_));
  return p;
}

}  // namespace tamis::lab::realisation
