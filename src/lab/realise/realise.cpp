// `realise`: checks the options, runs the method that they ask for, and searches for the least
// dimension where none is given.
#include <tamis/lab/realise.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/fail.h"
#include "lab/pattern/checks.h"
#include "lab/realise/attempts.h"
#include "lab/realise/column_kinds.h"
#include "lab/realise/jl/target.h"

namespace tamis::lab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Far more numbers than memory could hold; products of sizes up to this fit in 63 bits.
constexpr std::int64_t most_numbers = std::int64_t{1} << 40;

void check_sizes(const Pattern& pattern, const RealiseOptions& options) {
  const std::int64_t longest = std::max(pattern.rows, pattern.cols);
  if (longest >= std::int64_t{1} << 31)
    core::fail(Code::input,
               "the pattern is {} × {}; at most 2^31 - 1 rows and columns can be realised",
               pattern.rows, pattern.cols);
  if (options.dim && (*options.dim < 1 || *options.dim > longest))
    core::fail(Code::usage,
               "dimension {} was asked for; it must be from 1 to {}, as many as rows or columns",
               *options.dim, longest);
  if (options.dim && *options.dim > most_numbers / longest)
    core::fail(Code::usage,
               "dimension {} was asked for; {} rows or columns of that are more than memory holds",
               *options.dim, longest);
  if (!options.hidden) return;
  if (options.method != Method::jl)
    core::fail(Code::usage, "a hidden size was asked for; only method jl makes x, w_q and w_k");
  if (*options.hidden < 1 || *options.hidden > most_numbers / longest)
    core::fail(Code::usage, "hidden size {} was asked for; it must be from 2·dim to {}",
               *options.hidden, most_numbers / longest);
}

void check_options(const Pattern& pattern, const RealiseOptions& options) {
  check_conditions(options.conditions);
  pattern::check_pattern(pattern);
  if (options.conditions.causal) pattern::check_causal(pattern);
  check_sizes(pattern, options);
  if (options.max_norm && options.conditions.weak)
    core::fail(
        Code::usage,
        "a largest norm product was asked for; weak conditions hold at any scale, leave it out");
  if (options.max_norm && !(*options.max_norm > 0))
    core::fail(Code::usage, "a norm product of at most {} was asked for; it must be above 0",
               *options.max_norm);
  constexpr std::int64_t most_draws = std::int64_t{1} << 40;
  if (options.redraws < 0 || options.redraws > most_draws || options.steps < 0)
    core::fail(Code::usage,
               "{} redraws and {} steps were asked for; neither may be negative or above 2^40",
               options.redraws, options.steps);
}

/// The least dimension at which `any` succeeds, assuming that more dimensions are never worse: the
/// dimension is doubled until `any` succeeds, then bisected. With `with_jl`, jl is tried at
/// most_dim, where the matrix B of (9) is its own witness.
std::optional<realisation::Found> least_dimension(realisation::Attempts& attempts,
                                                  std::int64_t most_dim, double most,
                                                  bool with_jl) {
  std::int64_t fails = 0;
  std::optional<realisation::Found> best;
  for (std::int64_t dim = 1; !best; dim *= 2) {
    dim = std::min(dim, most_dim);
    best = attempts.any(dim, most);
    if (!best && dim == most_dim && with_jl) best = attempts.jl(dim, most);
    if (!best) {
      if (dim == most_dim) return std::nullopt;
      fails = dim;
    }
  }
  while (best->dim - fails > 1) {
    const std::int64_t dim = fails + (best->dim - fails) / 2;
    if (auto found = attempts.any(dim, most)) {
      best = std::move(found);
    } else {
      fails = dim;
    }
  }
  return best;
}

/// An estimate of the attempts of `least_dimension`: doublings, halvings, and the attempts that
/// `any` may need.
std::int64_t expected_attempts(std::int64_t most_dim) {
  return 2 * std::bit_width(static_cast<std::uint64_t>(most_dim)) + 2;
}

/// The sharper bound as m (the bound itself is the paper's d = 2m), at most the rows. Where there
/// is no bound, jl refuses any dimension.
std::int64_t jl_dimension(const Pattern& pattern, const Conditions& conditions) {
  const std::optional<DimensionBound> bound = sharper_bound(pattern, conditions);
  return bound ? std::min(pattern.rows, bound->d / 2) : pattern.rows;
}

/// Runs the method of the options. `usual` is the largest norm product to accept in a search for
/// the least dimension if the options give none.
std::optional<realisation::Found> attempt(const Pattern& pattern, const RealiseOptions& options,
                                          double usual, realisation::Attempts& attempts) {
  const double most = options.max_norm.value_or(infinity);
  switch (options.method) {
    case Method::jl:
      return attempts.jl(options.dim ? *options.dim : jl_dimension(pattern, options.conditions),
                         most);
    case Method::moment:
      if (options.dim && *options.dim < 2 * attempts.k())
        core::fail(Code::usage,
                   "dimension {} was asked for; method moment needs at least {}, twice the "
                   "nonzeros of the "
                   "fullest row (equal columns of a rectangular pattern count once)",
                   *options.dim, 2 * attempts.k());
      return attempts.moment(options.dim.value_or(2 * attempts.k()), most);
    case Method::descent:
      if (options.dim) return attempts.descent(*options.dim, most);
      break;
    case Method::automatic:
      if (options.dim) return attempts.any(*options.dim, most);
      break;
  }
  const bool with_jl = options.method == Method::automatic && pattern.rows == pattern.cols &&
                       pattern.rows <= realisation::most_jl_rows && !options.conditions.weak;
  return least_dimension(attempts, std::max(pattern.rows, pattern.cols),
                         options.max_norm.value_or(usual), with_jl);
}

}  // namespace

const char* name_of(Method method) {
  switch (method) {
    case Method::automatic:
      return "auto";
    case Method::jl:
      return "jl";
    case Method::moment:
      return "moment";
    case Method::descent:
      return "descent";
  }
  return "unknown";
}

Method method_named(const std::string& name) {
  for (const Method method : {Method::automatic, Method::jl, Method::moment, Method::descent})
    if (name == name_of(method)) return method;
  core::fail(Code::usage, "there is no method '{}'; there are auto, jl, moment and descent", name);
}

Realisation realisation::realise_kinds(const Pattern& pattern, const Pattern& kinds,
                                       const RealiseOptions& options,
                                       const ProgressCallback& progress) {
  check_options(pattern, options);
  // Slightly above the paper's norm, because B is rounded where it is its own witness.
  const double usual = options.conditions.weak
                           ? lab::infinity
                           : paper_norm(pattern, options.conditions) * (1 + 1e-6);
  const bool search =
      !options.dim && (options.method == Method::automatic || options.method == Method::descent);
  Attempts attempts(kinds, options, progress,
                    search ? expected_attempts(std::max(kinds.rows, kinds.cols)) : 1);
  std::optional<Found> found = attempt(kinds, options, usual, attempts);
  Realisation result;
  for (const Attempt& made : attempts.made()) result.seconds += made.seconds;
  result.attempts = std::move(attempts.made());
  result.redraws = attempts.redraws();
  if (!found) return result;
  result.verification = found->sealed.verification();
  result.witness = std::move(found->sealed).release();
  result.method = found->method;
  result.dim = found->dim;
  return result;
}

Realisation realise(const Pattern& pattern, const RealiseOptions& options,
                    const ProgressCallback& progress) {
  if (pattern.rows == pattern.cols || options.method == Method::jl)
    return realisation::realise_kinds(pattern, pattern, options, progress);
  check_options(pattern, options);
  const auto refuse_too_many_keys = [&](std::int64_t dim, DType dtype) {
    const std::string why = realisation::too_many_keys(pattern, dim, dtype);
    if (!why.empty()) core::fail(Code::input, "{}", why);
  };
  refuse_too_many_keys(options.dim.value_or(1), DType::f32);
  const realisation::ColumnKinds kinds =
      realisation::column_kinds(pattern, options.conditions.weak);
  Realisation result = realisation::realise_kinds(pattern, kinds.pattern, options, progress);
  if (!result.witness) return result;
  refuse_too_many_keys(result.dim, result.witness->k.info().dtype);
  result.witness = realisation::spread(std::move(*result.witness), kinds);
  // Verify again: the ratios of equal columns are checked like any others, but a row of the merged
  // pattern may have none.
  if (kinds.merge() && !options.conditions.weak)
    result.verification = verify(pattern, *result.witness, options.conditions, options.threads);
  return result;
}

}  // namespace tamis::lab
