// Decides small patterns in two dimensions, with queries and keys that share inputs of two or
// three columns and with free ones: all 4 × 4 patterns up to symmetry, and random 5 × 5 ones.
// Descent and a solver try each pattern independently and must not contradict each other. Takes
// seven minutes on two cores.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <set>

#include <tamis/info.h>
#include <tamis/lab/realise.h>
#include "campaign/campaign.h"
#include "core/parallel.h"
#include "lab/decide/shared.h"
#include "lab/decide/solvers/ask_reals.h"
#include "lab/numbers/random.h"

namespace tamis::test {
namespace {

constexpr std::int64_t dim = 2;
const ProgressCallback silent;

/// For each row, the columns of its ones, as bits.
using Rows = std::vector<unsigned>;

/// Renumbers rows and columns in the same way, since they share inputs.
Rows renumbered(const Rows& rows, const std::vector<std::size_t>& to) {
  Rows result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j) result[to[i]] |= (rows[i] >> j & 1U) << to[j];
  return result;
}

/// Exchanges ones and zeros, which corresponds to changing the sign of the queries. A row of ones
/// imposes no condition and stays.
Rows complement(Rows rows) {
  const unsigned all = (1U << rows.size()) - 1;
  for (unsigned& row : rows) row = row == all ? all : all ^ row;
  return rows;
}

struct Class {
  Rows rows;  ///< the smallest of the class
  std::int64_t patterns = 0;
};

/// All n × n patterns with a one in every row, up to `renumbered` and `complement`.
std::vector<Class> classes_of(std::size_t n) {
  std::vector<Class> classes;
  std::set<Rows> seen;
  const unsigned sets = (1U << n) - 1;
  Rows rows(n, 1);
  for (bool more = true; more;) {
    if (!seen.contains(rows)) {
      std::set<Rows> same;
      std::vector<std::size_t> to(n);
      std::iota(to.begin(), to.end(), std::size_t{0});
      do {
        same.insert(renumbered(rows, to));
        same.insert(complement(renumbered(rows, to)));
      } while (std::ranges::next_permutation(to).found);
      classes.push_back({rows, std::ssize(same)});
      seen.merge(same);
    }
    std::size_t digit = n;
    while (digit > 0 && rows[digit - 1] == sets) rows[--digit] = 1;
    more = digit > 0;
    if (more) ++rows[digit - 1];
  }
  return classes;
}

std::vector<Class> random_patterns(std::size_t n, std::int64_t count, std::uint64_t seed) {
  std::vector<Class> patterns;
  for (std::int64_t p = 0; p < count; ++p) {
    const lab::numbers::Stream stream(seed, lab::numbers::Purpose::test,
                                      static_cast<std::uint64_t>(p));
    Class one{Rows(n), 1};
    for (std::size_t i = 0; i < n; ++i)
      one.rows[i] =
          1 + static_cast<unsigned>(stream.below((1U << n) - 1, static_cast<std::uint32_t>(i)));
    patterns.push_back(std::move(one));
  }
  return patterns;
}

lab::Pattern pattern_of(const Rows& rows) {
  const auto n = std::ssize(rows);
  lab::Pattern pattern;
  pattern.rows = pattern.cols = n;
  pattern.row_start = {0};
  for (const unsigned row : rows) {
    for (std::int64_t j = 0; j < n; ++j)
      if ((row >> j & 1U) != 0) pattern.column.push_back(j);
    pattern.row_start.push_back(std::ssize(pattern.column));
  }
  pattern.value.assign(pattern.column.size(), 1.0);
  return pattern;
}

struct Outcome {
  bool descent = false;
  lab::decision::SolverAnswer solver;
  double descent_seconds = 0;
  double solver_seconds = 0;
};

bool descend(const lab::Pattern& pattern, std::optional<std::int64_t> hidden,
             const CampaignOptions& options) {
  if (!hidden) {
    lab::RealiseOptions wanted;
    wanted.conditions.weak = true;
    wanted.dim = dim;
    wanted.seed = options.seed;
    wanted.threads = 1;
    return lab::realise(pattern, wanted).witness.has_value();
  }
  lab::decision::Clock clock(options.time_limit, silent);
  lab::decision::Clock::Part part(clock, options.time_limit);
  return lab::decision::shared_witness(pattern, {dim, *hidden, options.seed, 256, 1}, part)
      .has_value();
}

Outcome try_both(const Rows& rows, std::optional<std::int64_t> hidden,
                 const CampaignOptions& options) {
  const lab::Pattern pattern = pattern_of(rows);
  Outcome outcome;
  lab::decision::Clock clock(1e9, silent);
  outcome.descent = descend(pattern, hidden, options);
  outcome.descent_seconds = clock.elapsed();
  lab::decision::Clock::Part part(clock, options.time_limit);
  outcome.solver = lab::decision::ask_reals(pattern, dim, hidden, 1, part);
  outcome.solver_seconds = clock.elapsed() - outcome.descent_seconds;
  return outcome;
}

/// Median / largest, or "-" if there are none.
std::string spread_of(std::vector<double> seconds) {
  if (seconds.empty()) return "-";
  std::ranges::sort(seconds);
  return fmt::format("{:.2g} / {:.2g}", seconds[(seconds.size() - 1) / 2], seconds.back());
}

std::string name_of(const Rows& rows) {
  std::string name;
  for (const unsigned row : rows) {
    if (!name.empty()) name += ' ';
    for (std::size_t j = 0; j < rows.size(); ++j) name += (row >> j & 1U) != 0 ? '1' : '0';
  }
  return name;
}

/// One line of the table, and remarks on it.
struct Line {
  std::string table, remarks;
  bool good = true;
};
Line report(std::size_t n, std::optional<std::int64_t> hidden, const std::vector<Class>& classes,
            const std::vector<Outcome>& outcomes) {
  Line line;
  std::int64_t yes = 0, no = 0, open = 0, patterns = 0, descents = 0, solver_yes = 0, checked = 0;
  std::vector<double> descent_seconds, yes_seconds, no_seconds;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const Outcome& outcome = outcomes[c];
    const bool found = outcome.solver.witness.has_value();
    const bool refuted = outcome.solver.refuted.has_value();
    patterns += classes[c].patterns;
    descents += outcome.descent;
    solver_yes += found;
    yes += outcome.descent || found;
    no += refuted;
    open += !outcome.descent && !found && !refuted;
    checked += refuted && outcome.solver.refuted->runs.back().answer == "unsat" &&
               outcome.solver.refuted->runs.size() > 1;
    descent_seconds.push_back(outcome.descent_seconds);
    if (found) yes_seconds.push_back(outcome.solver_seconds);
    if (refuted) no_seconds.push_back(outcome.solver_seconds);
    const std::string which =
        fmt::format("n = {}, d_hid {}: {}", n, hidden ? fmt::format("= {}", *hidden) : "≥ 4",
                    name_of(classes[c].rows));
    if (outcome.descent && refuted) {
      line.good = false;
      line.remarks += fmt::format("- CONTRADICTION, {}: {}\n", which, outcome.solver.outcome);
    } else if (!outcome.descent && !found && !refuted) {
      line.remarks += fmt::format("- open, {}: {}\n", which, outcome.solver.outcome);
    }
  }
  line.table = fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                           n, hidden ? fmt::format("{}", *hidden) : "≥ 4", classes.size(), patterns,
                           yes, no, open, descents, solver_yes, checked, spread_of(descent_seconds),
                           spread_of(yes_seconds), spread_of(no_seconds));
  return line;
}

}  // namespace

bool check_patterns(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = core::hardware_thread_count();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Class> four = classes_of(4);
  const std::vector<Class> five = random_patterns(5, options.patterns, options.seed);
  std::string table;
  std::string remarks;
  bool good = true;
  using Hidden = std::optional<std::int64_t>;
  for (const auto& [classes, hidden] : {std::pair(&four, Hidden{2}), std::pair(&five, Hidden{}),
                                        std::pair(&five, Hidden{3}), std::pair(&five, Hidden{2})}) {
    std::vector<Outcome> outcomes(classes->size());
    core::parallel_for(std::ssize(*classes), options.threads,
                       [&, of = classes, h = hidden](std::int64_t c, int) {
                         outcomes[static_cast<std::size_t>(c)] =
                             try_both((*of)[static_cast<std::size_t>(c)].rows, h, options);
                       });
    const Line line = report(classes->front().rows.size(), hidden, *classes, outcomes);
    fmt::print(stderr, "{}", line.table);
    table += line.table;
    remarks += line.remarks;
    good = good && line.good;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  publish(
      fmt::format(
          "# Small patterns in two dimensions\n\n"
          "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s.\n\n"
          "Weak conditions, d = 2. All 4 × 4 patterns with a one in every row, up to renumbering "
          "rows and columns alike and complementing all rows; {} random 5 × 5 patterns. Every "
          "pattern was tried by descent and then, independently, by a solver (z3, cross-checked "
          "with cvc5) for at most {:.0f} s. A yes is a witness verified in exact arithmetic; a no "
          "is the solver's word. Times are median / largest, in seconds.\n\n"
          "| n | d_hid | tried | patterns | yes | no | open | yes by descent | yes by solver | no "
          "said by both solvers | descent | solver, yes | solver, no |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
          "{}{}{}",
          options.command, options.seed, version(), processor(), options.threads,
          std::chrono::system_clock::now(), took.count(), options.patterns, options.time_limit,
          table, remarks.empty() ? "" : "\n", remarks),
      options);
  return good;
}

}  // namespace tamis::test
