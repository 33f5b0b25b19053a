// One draw of the paper's construction, exact in law and rejected as early as its rows allow.
//
// If Y is Haar, so is VY, and DY = B·VY. The logits are therefore (n/m)·B·P with P a Haar
// projection of rank m: no SVD is needed, and row i is (n/m)·P·b_i. P is revealed piece by piece.
// Gaussian columns G span part of its range. Given what is known (t dimensions of the range beyond
// G, and t of the kernel), the rest of P is Haar in the complement. For the residual r of b_i in
// the complement, with direction r̂, this gives P·r = √α·‖r‖·f with f = √α·r̂ + √(1−α)·û, and h =
// √(1−α)·r̂ − √α·û joins the kernel, where α ~ Beta((m − |G| − t)/2, (n − m − t)/2) and û is a
// uniform direction. If all these rows hold, the range is completed by Gaussian columns in the
// complement. Which row comes next depends only on what is known, so the law does not change.
//
// Everything is computed in f32. Decisions within rounding of the boundary may go either way, so
// the rows of an accepted draw that lie near it, or all rows, are confirmed in f64 (projection.h).
// Beyond rounding, the law of acceptance is that of the literal construction.
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

/// The workspace of one thread for one target: about n·(rank + 2·rows) floats.
class JlDraw {
 public:
  explicit JlDraw(const JlTarget& target);

  /// Sets the rank m of the following draws, 1 ≤ m ≤ n.
  void prepare(std::int64_t m, const JlPlan& plan);

  /// Makes draw number `draw` of this rank; returns whether every row holds. The result is a
  /// function of the arguments, the target, m and the plan. Allocates nothing after the first draw.
  bool draw(std::uint64_t seed, numbers::Purpose purpose, std::uint64_t draw);

  /// The least slack, in f32, of the rows that the last draw checked; of all n rows if it held.
  [[nodiscard]] float slack() const { return slack_; }
  /// If the last draw held, those of its rows whose slack is too small for f32 to be sure. A row
  /// may be listed twice.
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
  std::int64_t rank_ = 0;    // dimensions of the side that is drawn: min(m, n − m)
  bool complement_ = false;  // whether that side is the kernel of P
  JlPlan plan_;
  std::vector<float> least_;  // by row: how much its least logit may lose before (23) is in doubt
  std::vector<float> log_a_;  // the target's, in f32
  std::vector<std::int64_t> usual_;  // rows before anything is drawn, most likely to fail first

  std::uint64_t seed_ = 0;
  numbers::Purpose purpose_ = numbers::Purpose::jl;
  std::uint64_t id_ = 0;
  std::uint32_t used_ = 0;  // words used of the stream of gamma variates
  std::int64_t known_ = 0;  // vectors in range_: G, then the f of every row drawn
  std::int64_t taken_ = 0;  // vectors in kernel_: the h of every row drawn
  float slack_ = 0;
  float unsure_;  // slack below which f64 must decide
  std::vector<std::int64_t> in_doubt_;

  std::vector<float> range_, kernel_, scratch_, coefficients_, gram_, norm_, key_, block_;
  std::vector<std::int64_t> order_;
  stats::Cholesky<float> columns_, completion_;
};

}  // namespace tamis::lab::realisation
