// One draw of the paper's construction, exact in law and rejected as early as its rows allow.
//
// Y Haar makes VY Haar, and DY = B·VY, so the logits are (n/m)·B·P with P a Haar projection of rank
// m: no SVD, and row i is (n/m)·P·b_i. P is revealed piece by piece. Gaussian columns G span part
// of its range. Given what is known (t dimensions of the range beyond G, t of the kernel) the rest
// is Haar in the complement, so for the residual r of b_i there: P·r = √α‖r‖·f, f = √α·r̂ +
// √(1−α)·û, h = √(1−α)·r̂ − √α·û joins the kernel, with α ~ Beta((m − |G| − t)/2, (n − m − t)/2) and
// û uniform. What survives is completed by Gaussian columns in the complement. Which row comes next
// depends only on what is known, hence the law does not change.
//
// Everything is f32; decisions within its rounding of the boundary may go either way, so rows of an
// accepted draw that lie near it, or all of them, are confirmed in f64 (projection.h). Beyond
// rounding the law of acceptance is the literal one's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/numbers/random.h"
#include "lab/realise/jl/plan.h"
#include "lab/realise/jl/projection.h"
#include "lab/realise/jl/target.h"
#include "lab/stats/cholesky.h"

namespace tamis::lab::realisation {

/// Workspace of one thread for one target: n·(rank + 2·rows) floats and less.
class JlDraw {
 public:
  explicit JlDraw(const JlTarget& target);

  /// Draws from here on have rank m, 1 ≤ m ≤ n.
  void prepare(std::int64_t m, const JlPlan& plan);

  /// Draw number `draw` of this rank: true if every row holds. A function of its arguments, the
  /// target, m and the plan. Allocates nothing after the first.
  bool draw(std::uint64_t seed, numbers::Purpose purpose, std::uint64_t draw);

  /// The least slack of its rows, in f32; of all n if it held.
  [[nodiscard]] float slack() const { return slack_; }
  /// Rows of the last draw, if that held, that did so by too little for f32 to be sure; some may be
  /// there twice.
  [[nodiscard]] std::span<const std::int64_t> in_doubt() const { return in_doubt_; }
  /// The projection of the last draw, if that held.
  [[nodiscard]] Projection projection() const;

 private:
  void fill(float* to, std::uint32_t kind, std::int64_t index) const;
  void order_rows(std::int64_t wanted);
  bool next_row(std::int64_t row);
  bool complete();
  bool check_block(const std::int64_t* rows, std::int64_t count);
  bool holds(std::int64_t row, float* logits);
  double beta(double a, double b);
  double gamma(double shape);
  [[nodiscard]] float* vector(std::vector<float>& set, std::int64_t i) const {
    return set.data() + i * stride_;
  }

  const JlTarget& target_;
  std::int64_t stride_;
  std::int64_t m_ = 0;
  std::int64_t rank_ = 0;    // dimensions of the side that is drawn
  bool complement_ = false;  // that side is the kernel of P
  JlPlan plan_;
  std::vector<float> least_;  // by row: what its least logit may lose before (23) is in doubt
  std::vector<float> log_a_;  // as the target's
  std::vector<std::int64_t> usual_;  // rows, most suspicious first, before anything is drawn

  std::uint64_t seed_ = 0;
  numbers::Purpose purpose_ = numbers::Purpose::jl;
  std::uint64_t id_ = 0;
  std::uint32_t used_ = 0;  // of the stream of gamma variates
  std::int64_t known_ = 0;  // vectors of range_: G, then the f of every row taken
  std::int64_t taken_ = 0;  // vectors of kernel_: the h of every row taken
  float slack_ = 0;
  float unsure_;  // slack below which f64 must decide
  std::vector<std::int64_t> in_doubt_;

  std::vector<float> range_, kernel_, scratch_, coefficients_, gram_, norm_, key_, block_;
  std::vector<std::int64_t> order_;
  stats::Cholesky<float> columns_, completion_;
};

}  // namespace tamis::lab::realisation
