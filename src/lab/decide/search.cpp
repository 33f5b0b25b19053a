// The order of the search steps, what counts as an answer, and the cheap steps.
#include "lab/decide/search.h"

#include <algorithm>
#include <cmath>

#include "core/fail.h"
#include "lab/decide/column_order.h"
#include "lab/decide/full_set.h"
#include "lab/decide/line/line.h"
#include "lab/decide/number_columns.h"
#include "lab/decide/paper_form.h"
#include "lab/decide/spectral.h"

namespace tamis::lab::decision {
namespace {

/// Shares of the time limit for one step each. Time that a step leaves is available to the next.
constexpr double full_set_share = 0.15;
constexpr double spectral_share = 0.1;
constexpr double curve_share = 0.1;

}  // namespace

BoundSearch::BoundSearch(Question question, const DecideOptions& options, Clock& clock,
                         Decision& decision)
    : question_(std::move(question)),
      pattern_(question_.pattern),
      options_(options),
      clock_(clock),
      decision_(decision) {}

bool BoundSearch::free_at(std::int64_t dim) const {
  return !options_.hidden || *options_.hidden >= std::min(2 * dim, pattern_.rows);
}

std::int64_t BoundSearch::most_dim() const {
  // More dimensions than rows or columns are never needed.
  const std::int64_t longest = std::max(pattern_.rows, pattern_.cols);
  const std::int64_t asked = std::min(options_.dim.value_or(longest), longest);
  return options_.hidden ? std::min(asked, *options_.hidden) : asked;
}

bool BoundSearch::answered() const {
  const auto& [lower, upper] = std::pair(decision_.lower, decision_.upper);
  if (upper && *upper <= lower) return true;
  if (lower > most_dim()) return true;
  return options_.dim && upper && *upper <= *options_.dim;
}

BoundSearch::Started BoundSearch::start(std::string what, std::int64_t dim) const {
  return {std::move(what), dim, clock_.elapsed()};
}

void BoundSearch::record(const Started& started, std::string outcome) {
  const double seconds = clock_.elapsed() - started.at;
  if (!decision_.trials.empty()) {
    Trial& last = decision_.trials.back();
    if (last.what == started.what && last.dim == started.dim && last.outcome == outcome) {
      ++last.times;
      last.seconds += seconds;
      return;
    }
  }
  decision_.trials.push_back({started.what, started.dim, std::move(outcome), seconds});
}

Refutation BoundSearch::of_given(Refutation refutation) const {
  if (!question_.columns.empty()) number_columns(refutation.grounds, question_.columns);
  return refutation;
}

bool BoundSearch::refute(const Started& started, Refutation refutation,
                         const std::string& outcome) {
  refutation = of_given(std::move(refutation));
  if (refutation.proved()) {
    const RefutationCheck check = check_refutation(question_.given, refutation);
    if (!check.holds) {
      record(started, "a refutation was not confirmed: " + check.why);
      return false;
    }
  }
  record(started, outcome);
  if (refutation.dim < decision_.lower) return false;
  raise(std::move(refutation));
  return true;
}

void BoundSearch::raise(Refutation refutation) {
  decision_.lower = refutation.dim + 1;
  decision_.refutation = std::move(refutation);
}

bool BoundSearch::accept(const Started& started, realisation::Sealed sealed, std::int64_t dim,
                         const char* method) {
  const Verification verification = sealed.verification();
  return accept(started, std::move(sealed).release(), verification, dim, method);
}

bool BoundSearch::accept(const Started& started, Witness witness, const Verification& verification,
                         std::int64_t dim, const char* method) {
  record(started, "a witness, verified");
  if (decision_.upper && *decision_.upper <= dim) return false;
  decision_.upper = dim;
  decision_.witness = std::move(witness);
  decision_.verification = verification;
  decision_.method = method;
  return true;
}

bool BoundSearch::try_keys(Started started, const Keys& keys, const char* method) {
  started.dim = keys.dim;
  const auto needs = [&](const char* what, std::int64_t least) {
    record(started, fmt::format("needs {} {}", what, least));
    return false;
  };
  if (keys.dim > most_dim() || (decision_.upper && *decision_.upper <= keys.dim))
    return needs("dimension", keys.dim);
  if (!free_at(keys.dim)) return needs("hidden size", std::min(2 * keys.dim, pattern_.rows));
  Clock::Part part = share(seal_share);
  // Measured: a row takes about dim passes over the keys near it, of dim operations for each key.
  constexpr double per_second = 2e7;
  constexpr double keys_near = 1024;
  const double passes =
      static_cast<double>(pattern_.rows) * std::min(keys_near, static_cast<double>(pattern_.cols));
  if (passes * static_cast<double>(keys.dim * keys.dim) > per_second * part.left()) {
    record(started, "its queries would take too long");
    return false;
  }
  return cancellable(started, [&] {
    const realisation::Candidate candidate{.rows = pattern_.rows,
                                           .cols = pattern_.cols,
                                           .dim = keys.dim,
                                           .k = keys.k,
                                           .made_by = {{"method", method}}};
    auto sealed = realisation::seal_shortest(pattern_, weak_conditions, candidate, options_.threads,
                                             part.callback());
    if (sealed) return accept(started, std::move(*sealed), keys.dim, method);
    record(started, "f64 cannot hold its margins");
    return false;
  });
}

void BoundSearch::line() {
  const Started started = start("line", 1);
  auto answer = decide_line(pattern_, options_.hidden);
  if (auto* refutation = std::get_if<Refutation>(&answer)) {
    const std::string grounds = name_of(refutation->grounds);
    refute(started, std::move(*refutation), "none exists: " + grounds);
    return;
  }
  auto& witness = std::get<Witness>(answer);
  // The paper's form is made here and not at the end, because for many rows verifying takes most of
  // the time.
  if (options_.hidden && witness.has_queries())
    witness = with_paper_form(std::move(witness), *options_.hidden);
  auto sealed =
      realisation::seal_witness(pattern_, std::move(witness), weak_conditions, options_.threads);
  if (!sealed)
    core::fail(Code::internal, "the witness of dimension 1 does not hold; this is a defect");
  accept(started, std::move(*sealed), 1, "line");
}

void BoundSearch::small_cases() {
  if (signs_->cols <= most_closed_dim)
    try_keys(start("few columns", 0), keys_of_few_columns(*signs_), "simplices");
  if (signs_->rows <= most_closed_dim)
    if (const auto keys = keys_of_few_rows(*signs_))
      try_keys(start("few rows", 0), *keys, "rows as coordinates");
}

/// The trivial witness, tried where there is no other yet, so that there is an upper bound.
void BoundSearch::simplex() {
  if (!signs_) return;
  const std::int64_t dim = signs_->cols - 1;
  constexpr double most_products = 2e9;
  if (decision_.upper || dim > most_dim() || !free_at(dim)) return;
  if (static_cast<double>(pattern_.rows) * static_cast<double>(pattern_.cols) *
          static_cast<double>(dim) >
      most_products)
    return;
  const Started started = start("simplex", dim);
  auto candidate = simplex_with_queries(pattern_, *signs_);
  if (candidate) candidate->made_by = {{"method", "simplex"}};
  if (auto sealed = candidate
                        ? realisation::seal(pattern_, weak_conditions, *candidate, options_.threads)
                        : std::nullopt)
    accept(started, std::move(*sealed), candidate->dim, "simplex");
}

void BoundSearch::curve() {
  Clock::Part part = share(curve_share);
  constexpr int rounds = 20;
  const Started started = start("curve", 0);
  const auto order = column_order(*signs_, options_.seed, rounds, part);
  if (!order) return;
  const std::int64_t dim = std::max<std::int64_t>(order->changes, 1);
  if (dim > most_closed_dim) {
    record(started, fmt::format("rows change sign {} times in the best order found", dim));
    return;
  }
  try_keys(started, keys_on_curve(*signs_, *order, dim), "curve");
}

void BoundSearch::full_sets() {
  Clock::Part part = share(full_set_share);
  const Side columns = side_of_columns(*signs_);
  const Side rows = side_of_rows(*signs_);
  while (!answered()) {
    const std::int64_t dim = decision_.lower;
    const Started started = start("full sets", dim);
    bool complete = true;
    bool found = false;
    for (const Side* side : {&columns, &rows}) {
      FullSetSearch search = find_full_set(*signs_, *side, dim + 2, part);
      complete = complete && search.complete;
      if (!search.found) continue;
      found = refute(started, {dim, {}, std::move(*search.found)},
                     fmt::format("none exists: a full set of {}", dim + 2));
      break;
    }
    if (found) continue;
    record(started, complete ? "no full set" : "no full set found in its time");
    return;
  }
}

void BoundSearch::spectral() {
  Clock::Part part = share(spectral_share);
  Started started = start("spectral", 0);
  auto bound = spectral_bound(*signs_, part);
  if (!bound) return;
  // sign-rank ≥ s refutes s − 2 columns. The estimate of the norm may be a little low, so smaller
  // dim are tried too.
  for (auto dim = static_cast<std::int64_t>(std::ceil(bound->sign_rank)) - 2;; --dim) {
    started.dim = dim;
    if (dim < decision_.lower) {
      record(started, fmt::format("sign-rank at least {:.3f}", bound->sign_rank));
      return;
    }
    Refutation refutation = of_given({dim, {}, bound->weights});
    if (check_refutation(question_.given, refutation).holds) {
      record(started, fmt::format("none exists: sign-rank at least {:.3f}", bound->sign_rank));
      raise(std::move(refutation));
      return;
    }
  }
}

void BoundSearch::run() {
  line();
  const auto next = [&] { return !answered() && !clock_.over(); };
  if (!next()) return;
  signs_ = sign_matrix(pattern_);
  if (signs_) {
    for (const auto step : {&BoundSearch::small_cases, &BoundSearch::full_sets, &BoundSearch::curve,
                            &BoundSearch::spectral}) {
      if (!next()) return;
      (this->*step)();
    }
  }
  for (const auto step : {&BoundSearch::moment, &BoundSearch::simplex, &BoundSearch::descents,
                          &BoundSearch::shared, &BoundSearch::solvers}) {
    if (!next()) return;
    (this->*step)();
  }
}

}  // namespace tamis::lab::decision
