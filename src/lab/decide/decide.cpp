// `decide`: checks the options, runs the search and derives the verdict.
#include <tamis/lab/decide.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/fail.h"
#include "lab/decide/clock.h"
#include "lab/decide/paper_form.h"
#include "lab/decide/search.h"
#include "lab/pattern/checks.h"
#include "lab/realise/column_kinds.h"

namespace tamis::lab {
namespace {

void check_options(const Pattern& pattern, const DecideOptions& options) {
  pattern::check_pattern(pattern);
  constexpr std::int64_t too_long = std::int64_t{1} << 31;
  const std::int64_t longest = std::max(pattern.rows, pattern.cols);
  if (longest >= too_long)
    core::fail(Code::input,
               "the pattern is {} × {}; at most 2^31 - 1 rows and columns can be decided",
               pattern.rows, pattern.cols);
  if (options.witness)
    if (const std::string why = realisation::too_many_keys(pattern, 1, DType::f32); !why.empty())
      core::fail(Code::input, "{}", why);
  if (options.dim && *options.dim < 1)
    core::fail(Code::usage, "dimension {} was asked for; it must be at least 1", *options.dim);
  if (!(options.time_limit > 0))
    core::fail(Code::usage, "a time limit of {} seconds was asked for; it must be above 0",
               options.time_limit);
  if (!options.hidden) return;
  constexpr std::int64_t most_numbers = std::int64_t{1} << 26;  // numbers in x
  if (pattern.rows != pattern.cols)
    core::fail(Code::usage,
               "a hidden size was asked for, but the pattern is {} × {}; queries and keys share "
               "inputs only if it is square",
               pattern.rows, pattern.cols);
  if (*options.hidden < options.dim.value_or(1) || *options.hidden > most_numbers / longest)
    core::fail(Code::usage,
               "hidden size {} was asked for; it must be from {} (the dimension) to {}",
               *options.hidden, options.dim.value_or(1), most_numbers / longest);
}

/// x·w_q = q and x·w_k = k hold without rounding, so this check only guards against defects. It is
/// left out where it would take long.
void check_paper_form(const Pattern& pattern, Decision& decision, int threads) {
  constexpr double most_products = 1 << 28;
  const std::vector<std::int64_t>& shape = decision.witness->x.info().shape;
  const auto n = static_cast<double>(shape[0]);
  if (n * n * static_cast<double>(*decision.upper) +
          n * static_cast<double>(shape[1] * *decision.upper) >
      most_products)
    return;
  decision.verification = verify(pattern, *decision.witness, Conditions{.weak = true}, threads);
  if (!decision.verification.holds())
    core::fail(Code::internal, "a witness does not hold in the paper's form; this is a defect");
}

Verdict verdict_of(const Decision& decision, const DecideOptions& options) {
  const std::optional<std::int64_t>& upper = decision.upper;
  if (options.dim) {
    if (upper && *upper <= *options.dim) return Verdict::yes;
    return decision.lower > *options.dim ? Verdict::no : Verdict::open;
  }
  if (upper && *upper == decision.lower) return Verdict::yes;
  return options.hidden && decision.lower > *options.hidden ? Verdict::no : Verdict::open;
}

/// Without `hidden`, queries and keys share no inputs, so equal columns can share their key.
Decision decide_kinds(const Pattern& pattern, const DecideOptions& options,
                      decision::Clock& clock) {
  const realisation::ColumnKinds kinds = realisation::column_kinds(pattern, true);
  Decision decision;
  std::vector<std::int64_t> columns;
  if (kinds.merge()) columns = kinds.first;
  decision::BoundSearch({kinds.pattern, pattern, std::move(columns)}, options, clock, decision)
      .run();
  if (!decision.witness || !options.witness) return decision;
  std::string why =
      realisation::too_many_keys(pattern, *decision.upper, decision.witness->k.info().dtype);
  if (why.empty()) {
    decision.witness = realisation::spread(std::move(*decision.witness), kinds);
  } else {
    decision.witness.reset();
    decision.trials.push_back({"a key for every column", *decision.upper, std::move(why), 0});
  }
  return decision;
}

/// With `hidden`, queries and keys may share inputs, so the columns stay as they are.
Decision decide_shared(const Pattern& pattern, const DecideOptions& options,
                       decision::Clock& clock) {
  Decision decision;
  decision::BoundSearch({pattern, pattern, {}}, options, clock, decision).run();
  return decision;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::yes:
      return "yes";
    case Verdict::no:
      return "no";
    case Verdict::open:
      return "open";
  }
  return "unknown";
}

Decision decide(const Pattern& pattern, const DecideOptions& options,
                const ProgressCallback& progress) {
  check_options(pattern, options);
  decision::Clock clock(options.time_limit, progress);
  Decision decision = options.hidden ? decide_shared(pattern, options, clock)
                                     : decide_kinds(pattern, options, clock);
  if (!options.witness) decision.witness.reset();
  if (decision.witness && pattern.rows == pattern.cols && !decision.witness->has_inputs()) {
    decision.witness = decision::with_paper_form(std::move(*decision.witness),
                                                 options.hidden.value_or(2 * *decision.upper));
    check_paper_form(pattern, decision, options.threads);
  }
  decision.verdict = verdict_of(decision, options);
  decision.interrupted = clock.interrupted();
  decision.seconds = clock.elapsed();
  return decision;
}

}  // namespace tamis::lab
