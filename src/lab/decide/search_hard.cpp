// The steps of the search that may take all the time available: descents and external solvers.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tamis/info.h>
#include <tamis/lab/realise.h>
#include "core/fail.h"
#include "lab/decide/orders/orders.h"
#include "lab/decide/search.h"
#include "lab/decide/shared.h"
#include "lab/decide/solvers/ask_reals.h"
#include "lab/realise/descent/descent.h"

namespace tamis::lab::decision {
namespace {

constexpr double descent_share = 0.35;
constexpr double shared_share = 0.3;
constexpr double order_share = 0.5;  // of the time left by then

constexpr std::int64_t most_descent_dim = 256;

/// Flops per second, measured with two threads, of the passes over all pairs that a descent makes
/// at times. During such a pass it does not look at the clock.
constexpr double descent_flops = 2e10;

/// Up to this many entries a descent takes milliseconds, and further starts are worth trying.
constexpr std::int64_t small_pattern = 4096;
constexpr std::uint64_t most_beginnings = 8;
constexpr std::uint64_t many_beginnings = 400;
constexpr double again_share = 0.5;  // of the time left by then

}  // namespace

/// The closed form of `realise`, for patterns with too many columns to order for a curve of few
/// dimensions.
void BoundSearch::moment() {
  RealiseOptions wanted;
  wanted.method = Method::moment;
  wanted.conditions = weak_conditions;
  wanted.threads = options_.threads;
  const std::int64_t dim = 2 * figures_of(pattern_).most_per_row;
  if (dim > std::min(most_dim(), most_closed_dim) || !free_at(dim)) return;
  if (decision_.upper && *decision_.upper <= dim) return;
  const Started started = start("moment", dim);
  Clock::Part part = share(seal_share);
  cancellable(started, [&] {
    Realisation result = realise(pattern_, wanted, part.callback());
    if (result.witness)
      return accept(started, std::move(*result.witness), result.verification, dim, "moment");
    record(started, result.attempts.back().why);
    return false;
  });
}

bool BoundSearch::is_small() const { return pattern_.rows * pattern_.cols <= small_pattern; }

bool BoundSearch::descent(std::int64_t dim, std::uint64_t seed, Clock::Part& part) {
  const Started started = start("descent", dim);
  // The first points that meet the conditions are enough, because weak conditions hold at any
  // scale.
  const realisation::DescentOptions wanted{
      .dim = dim,
      .enough = std::numeric_limits<double>::infinity(),
      .seed = seed,
      .threads = options_.threads > 0 ? options_.threads : hardware_threads()};
  return cancellable(started, [&] {
    auto candidate =
        tamis::lab::realisation::descent(pattern_, weak_conditions, wanted, part.callback());
    if (!candidate) {
      record(started, "no step met the conditions");
      return false;
    }
    candidate->made_by = {{"method", "descent"}};
    auto sealed = realisation::seal_shortest(pattern_, weak_conditions, *candidate,
                                             options_.threads, part.callback());
    if (sealed) return accept(started, std::move(*sealed), dim, "descent");
    record(started, "f64 cannot hold its margins");
    return false;
  });
}

/// Success ends a descent early and failure never does, so dimensions are tried from above. Without
/// a witness the first dimension is the largest one that fits the time; then dimensions between the
/// largest failure and the smallest success are tried. Small patterns, where a failure costs
/// milliseconds, begin at the lower bound and get several starts for each dimension.
void BoundSearch::descents() {
  Clock::Part part = share(descent_share);
  std::int64_t most =
      std::min({most_dim(), std::max(pattern_.rows, pattern_.cols), most_descent_dim});
  // A pass over all pairs may take a third of the time.
  const double pairs = static_cast<double>(pattern_.rows) * static_cast<double>(pattern_.cols);
  const auto in_time = static_cast<std::int64_t>(std::min(
      descent_flops * part.left() / (3 * 2 * pairs), static_cast<double>(most_descent_dim)));
  if (in_time < (options_.dim ? most : decision_.lower)) {
    record(start("descent", 0), "a pass over all pairs would take too long");
    return;
  }
  most = std::min(most, in_time);
  while (most > 0 && !free_at(most)) --most;
  const bool small = is_small();
  const auto attempt = [&](std::int64_t dim) {
    for (std::uint64_t i = 0; i == 0 || (small && i < most_beginnings); ++i) {
      Clock::Part third(clock_, small ? part.left() : part.left() / 3);
      if (part.over()) return false;
      if (descent(dim, options_.seed + i, third)) return true;
    }
    return false;
  };
  if (most < decision_.lower) return;
  if (options_.dim) {
    attempt(most);
    return;
  }
  std::int64_t fails = decision_.lower - 1;
  if (small && !attempt(decision_.lower)) fails = decision_.lower;
  if ((!decision_.upper || *decision_.upper > most) && fails < most && !attempt(most)) fails = most;
  while (decision_.upper && *decision_.upper - fails > 1 && !part.over()) {
    const auto middle =
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(std::max<std::int64_t>(fails, 1)) *
                                            static_cast<double>(*decision_.upper)));
    const std::int64_t dim = std::clamp(middle, fails + 1, *decision_.upper - 1);
    if (dim > most || !attempt(dim)) fails = dim;
  }
}

/// The descent for queries and keys that share inputs.
void BoundSearch::shared() {
  if (!options_.hidden) return;
  Clock::Part part = share(shared_share);
  const std::int64_t first = options_.dim ? most_dim() : decision_.lower;
  const std::int64_t end = decision_.upper.value_or(most_dim() + 1);
  for (std::int64_t dim = first; dim < end && !answered() && !part.over(); ++dim) {
    if (free_at(dim)) continue;
    const Started started = start("shared descent", dim);
    SharedOptions wanted;
    wanted.dim = dim;
    wanted.hidden = *options_.hidden;
    wanted.seed = options_.seed;
    wanted.threads = options_.threads;
    if (auto sealed = shared_witness(pattern_, wanted, part)) {
      accept(started, std::move(*sealed), dim, "shared descent");
      return;
    }
    record(started, part.over() ? "its time was up" : "nothing was found");
  }
}

bool BoundSearch::order_types(std::int64_t dim) {
  const Started started = start("order types", dim);
  if (!signs_) {
    record(started, "the rows and columns are too many");
    return false;
  }
  Clock::Part part(clock_, order_share * clock_.left());
  OrdersAnswer answer = find_order_proof(*signs_, dim, options_.seed, part);
  if (auto* proof = std::get_if<OrderProof>(&answer)) {
    const std::string outcome =
        fmt::format("none exists: a proof on {} elements", proof->elements.size());
    return refute(started, {dim, {}, std::move(*proof)}, outcome);
  }
  if (auto* unknown = std::get_if<OrdersUnknown>(&answer)) {
    record(started, unknown->why);
  } else {
    record(started, "order types exist");
  }
  return false;
}

/// Further starts for small patterns. Where descents take milliseconds and no order proof was
/// found, the likeliest answer is a witness that few starts lead to.
bool BoundSearch::descend_again(std::int64_t dim) {
  if (!is_small() || !free_at(dim)) return false;
  Clock::Part part(clock_, again_share * clock_.left());
  for (std::uint64_t i = most_beginnings; i < many_beginnings && !part.over(); ++i)
    if (descent(dim, options_.seed + i, part)) return true;
  return false;
}

/// Runs the solvers from the lower bound upwards, as long as something is refuted. They need
/// temporary files; if none can be made, the bounds so far remain.
void BoundSearch::solvers() {
  if (!options_.solvers) return;
  const Started started = start("solvers", 0);
  try {
    while (!answered() && !clock_.over()) {
      const std::int64_t dim = options_.dim ? most_dim() : decision_.lower;
      if (!order_types(dim) && !descend_again(dim) && !reals(dim)) return;
    }
  } catch (const Error& error) {
    if (error.code() != Code::io) throw;
    record(started, error.what());
  }
}

bool BoundSearch::reals(std::int64_t dim) {
  Clock::Part part(clock_, clock_.left());
  const Started started = start("reals", dim);
  std::optional<std::int64_t> hidden = free_at(dim) ? std::nullopt : options_.hidden;
  SolverAnswer answer = ask_reals(pattern_, dim, hidden, options_.threads, part);
  if (answer.witness) return accept(started, std::move(*answer.witness), dim, "solver");
  if (answer.refuted && answer.without_sharing) hidden.reset();
  if (answer.refuted)
    return refute(started, {dim, hidden, std::move(*answer.refuted)}, answer.outcome);
  record(started, answer.outcome);
  return false;
}

}  // namespace tamis::lab::decision
