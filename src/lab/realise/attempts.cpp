#include "lab/realise/attempts.h"

#include <chrono>
#include <cmath>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/realise/curve/moment.h"
#include "lab/realise/curve/spread.h"
#include "lab/realise/descent/descent.h"
#include "lab/realise/jl/construction.h"

namespace tamis::lab::realisation {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Large problems come near the best result in fewer steps than small ones get.
std::int64_t default_steps(const Pattern& pattern) {
  return pattern.rows * pattern.cols <= std::int64_t{1} << 22 ? 2000 : 1000;
}

/// x has 2·from columns, cosines and then sines. Adds zeros for the higher frequencies, up to dim
/// columns, so the functions stay the same.
std::vector<double> with_frequencies(const std::vector<double>& x, std::int64_t rows,
                                     std::int64_t from, std::int64_t dim) {
  std::vector<double> result(static_cast<std::size_t>(rows * dim));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t half = 0; half < 2; ++half)
      std::copy_n(x.begin() + (2 * i + half) * from, from,
                  result.begin() + i * dim + half * (dim / 2));
  return result;
}

}  // namespace

Attempts::Attempts(const Pattern& pattern, const RealiseOptions& options,
                   const ProgressCallback& progress, std::int64_t expected)
    : pattern_(pattern),
      options_(options),
      progress_(progress),
      figures_(figures_of(pattern)),
      threads_(core::thread_count(options.threads)),
      expected_(expected) {}

/// Progress of a part of the current attempt, from share `from` to share `to` of it.
ProgressCallback Attempts::part(double from, double to) {
  if (!progress_) return {};
  const auto before = static_cast<double>(std::min<std::int64_t>(std::ssize(made_), expected_ - 1));
  return [this, before, from, to](double done, double total) {
    const double share = total > 0 ? done / total : 1;
    // Progress never goes back, also where a part is tried again.
    told_ = std::max(told_, before + from + (to - from) * share);
    return progress_(told_, static_cast<double>(expected_));
  };
}

/// Records how an attempt ended; drops a witness whose norm product is above `most`.
std::optional<Found> Attempts::finish(Method method, std::int64_t dim, double begin,
                                      std::optional<Found> found, double most,
                                      const std::string& why) {
  Attempt attempt;
  attempt.method = method;
  attempt.dim = dim;
  attempt.seconds = now() - begin;
  if (found) {
    attempt.norm_product = found->sealed.verification().norm_product;
    attempt.max_logit = found->sealed.verification().max_logit;
    attempt.verified = attempt.norm_product <= most;
    if (!attempt.verified) {
      attempt.why =
          fmt::format("its norm product {:.6g} is above {:.6g}", attempt.norm_product, most);
      found.reset();
    }
  } else {
    attempt.why = why;
  }
  made_.push_back(std::move(attempt));
  return found;
}

/// What a witness made by this method says of its origin.
Metadata Attempts::origin(Method method) const {
  return {{"method", name_of(method)}, {"seed", std::to_string(options_.seed)}};
}

std::optional<Found> Attempts::jl(std::int64_t dim, double most) {
  const double begin = now();
  const JlOptions wanted{dim, options_.redraws, options_.hidden.value_or(0), options_.seed,
                         threads_};
  std::optional<JlWitness> drawn = jl_witness(pattern_, options_.conditions, wanted, part(0, 0.9));
  redraws_ += drawn ? drawn->redraws : options_.redraws > 0 ? options_.redraws : pattern_.rows;
  std::optional<Found> found;
  if (drawn) {
    drawn->candidate.made_by = origin(Method::jl);
    if (auto sealed = seal(pattern_, options_.conditions, drawn->candidate, threads_, part(0.9, 1)))
      found = Found{std::move(*sealed), Method::jl, dim};
  }
  return finish(Method::jl, dim, begin, std::move(found), most, "no draw met the conditions");
}

/// The points of `moment` on a circle, in `dim` ≥ 2k dimensions. Above 2k, keys get higher
/// frequencies, which admit shorter queries. An odd dimension leaves its last column zero. Throws
/// what `moment` throws.
Candidate Attempts::moment_candidate(std::int64_t dim) {
  if (!on_circle_)
    on_circle_ = tamis::lab::realisation::moment(pattern_, options_.conditions, Arithmetic::f32,
                                                 threads_, part(0, 0.5));
  if (dim == on_circle_->dim) return *on_circle_;
  const std::int64_t frequencies = dim / 2;
  const Curve curve(pattern_.cols, frequencies);
  if (position_.empty()) position_ = spread_columns(pattern_, Curve(pattern_.cols, k()));
  Candidate candidate{.rows = pattern_.rows,
                      .cols = pattern_.cols,
                      .dim = dim,
                      .q = with_frequencies(on_circle_->q, pattern_.rows, k(), dim)};
  candidate.k.resize(static_cast<std::size_t>(pattern_.cols * dim));
  for (std::int64_t j = 0; j < candidate.cols; ++j)
    curve.key(position_[j], std::span(candidate.k)
                                .subspan(static_cast<std::size_t>(j * dim),
                                         static_cast<std::size_t>(2 * frequencies)));
  return candidate;
}

std::optional<Found> Attempts::moment(std::int64_t dim, double most) {
  const double begin = now();
  std::optional<Found> found;
  std::string why = "it needs twice as many dimensions as a row has nonzeros";
  if (dim >= 2 * k()) try {
      why = "f64 cannot hold its margins";
      Candidate candidate = moment_candidate(dim);
      candidate.made_by = origin(Method::moment);
      if (auto sealed =
              seal_shortest(pattern_, options_.conditions, candidate, threads_, part(0.5, 1)))
        found = Found{std::move(*sealed), Method::moment, dim};
    } catch (const Error& error) {
      if (error.code() != Code::usage) throw;
      why = error.what();  // the logits are beyond f64; another method may do
    }
  return finish(Method::moment, dim, begin, std::move(found), most, why);
}

std::optional<Found> Attempts::descent_from(std::int64_t dim, double most, const Candidate* start) {
  const double begin = now();
  const DescentOptions wanted{
      .dim = dim,
      .steps = options_.steps > 0 ? options_.steps : default_steps(pattern_),
      .enough = most < std::numeric_limits<double>::infinity() ? most : 0,
      .seed = options_.seed,
      .threads = threads_,
      .start = start};
  auto candidate =
      tamis::lab::realisation::descent(pattern_, options_.conditions, wanted, part(0, 0.9));
  std::optional<Found> found;
  if (candidate) {
    candidate->made_by = origin(Method::descent);
    if (auto sealed =
            seal_shortest(pattern_, options_.conditions, *candidate, threads_, part(0.9, 1)))
      found = Found{std::move(*sealed), Method::descent, dim};
  }
  return finish(Method::descent, dim, begin, std::move(found), most,
                candidate ? "f64 cannot hold its margins" : "no step met the conditions");
}

std::optional<Found> Attempts::descent(std::int64_t dim, double most) {
  return descent_from(dim, most, nullptr);
}

std::optional<Found> Attempts::any(std::int64_t dim, double most) {
  std::optional<Found> best = descent(dim, most);
  const bool nothing = !std::isfinite(made_.back().norm_product);
  // Descent is far better where there is room, and of no use where only a curve will do.
  const bool far_above = most < std::numeric_limits<double>::infinity() || dim > 4 * k();
  if (dim < 2 * k() || (!nothing && far_above)) return best;
  const auto keep = [&](std::optional<Found> found) {
    if (found && (!best || found->sealed.verification().norm_product <
                               best->sealed.verification().norm_product))
      best = std::move(found);
  };
  keep(moment(dim, most));
  if (nothing && on_circle_) {
    const Candidate start = moment_candidate(dim);
    keep(descent_from(dim, most, &start));
  }
  return best;
}

}  // namespace tamis::lab::realisation
