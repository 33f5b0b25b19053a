#include "lab/decide/solvers/ask_reals.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/decide/solvers/real_problem.h"
#include "lab/decide/solvers/smt_model.h"
#include "lab/decide/solvers/smt_text.h"
#include "lab/decide/solvers/subprocess.h"
#include "lab/decide/solvers/temp_folder.h"

namespace tamis::lab::decision {
namespace {

constexpr double first_seconds = 0.5;
constexpr std::uint64_t attempts_of_a_length = 4;
constexpr std::uint64_t whole_attempts = 4;  // attempts before problems are split into cases
constexpr std::size_t most_entries = 16;     // of a vector whose signs are made cases
constexpr double version_seconds = 10;
constexpr double least_check_seconds = 2;
constexpr double check_factor = 2;

struct Solver {
  const char* name;
  std::vector<std::string> options;
  /// Added in some runs, so that the solver keeps the order of the unknowns as written.
  std::vector<std::string> as_written;
};
const std::vector<Solver>& solvers() {
  static const std::vector<Solver> all = {
      {"z3",
       {"-smt2", "tactic.default_tactic=qfnra-nlsat", "pp.decimal=true", "pp.decimal_precision=20"},
       {"nlsat.reorder=false"}},
      {"cvc5", {"--lang=smt2", "--produce-models", "--incremental"}, {}},
  };
  return all;
}

/// The name and version, such as "z3 4.8.12": the word after "version " in what the program prints.
std::string with_version(const Solver& solver, Clock::Part& part) {
  Clock::Part moment(part, version_seconds);
  const ProgramRun run = run_program(solver.name, {"--version"}, {}, moment);
  const auto begin = run.output.find("version ");
  if (begin == std::string::npos) return solver.name;
  const auto from = begin + std::string_view("version ").size();
  return fmt::format("{} {}", solver.name,
                     run.output.substr(from, run.output.find_first_of(" \n", from) - from));
}

std::string answer_of(const ProgramRun& run, std::int64_t checks) {
  switch (run.ended) {
    case Ended::time:
      return "timeout";
    case Ended::memory:
      return "memory";
    case Ended::exited:
      break;
    default:
      return "failed";
  }
  const std::string_view verdict = smt_verdict(run.output, checks);
  return verdict.empty() ? "failed" : std::string(verdict);
}

/// One question: its problems and the answers so far.
class Asking {
 public:
  Asking(const Pattern& pattern, std::int64_t dim, std::optional<std::int64_t> hidden, int threads,
         Clock::Part& part)
      : pattern_(pattern), dim_(dim), hidden_(hidden), threads_(threads), part_(part) {
    signs_ = sign_matrix(pattern);
    for (const Solver& solver : solvers())
      if (!find_program(solver.name).empty())
        installed_.push_back({&solver, with_version(solver, part)});
  }

  SolverAnswer run() {
    if (installed_.empty()) {
      answer_.outcome = "neither z3 nor cvc5 is installed";
      return std::move(answer_);
    }
    if (hidden_ && refuted_without_sharing()) return std::move(answer_);
    double seconds = first_seconds;
    for (std::uint64_t attempt = 0; !part_.over(); ++attempt) {
      if (attempt > whole_attempts && attempt % attempts_of_a_length == 0) seconds *= 2;
      const auto problem = problem_of(attempt);
      if (!problem) {
        answer_.outcome = "the problem is too large to be asked";
        break;
      }
      if (answers(*problem, attempt, seconds)) break;
    }
    if (answer_.outcome.empty())
      answer_.outcome = fmt::format("{} gave no answer, asked {} times", installed_[0].version,
                                    answer_.runs.size());
    return std::move(answer_);
  }

 private:
  struct Installed {
    const Solver* solver;
    std::string version;
  };

  [[nodiscard]] std::optional<RealProblem> problem_of(std::uint64_t attempt) const {
    if (hidden_) return shared_problem(pattern_, dim_, *hidden_, attempt, threads_);
    if (!signs_) return std::nullopt;
    return free_problem(pattern_, *signs_, dim_, attempt, threads_);
  }

  /// Runs one solver and appends its answer to the runs.
  ProgramRun run_one(const Installed& installed, const std::string& text, std::int64_t checks,
                     bool as_written, double seconds) {
    std::vector<std::string> arguments = installed.solver->options;
    if (as_written)
      arguments.insert(arguments.end(), installed.solver->as_written.begin(),
                       installed.solver->as_written.end());
    arguments.push_back(folder_.write("problem.smt2", text));
    Clock::Part slice(part_, seconds);
    ProgramRun run = run_program(installed.solver->name, arguments, {}, slice);
    answer_.runs.push_back({installed.version, answer_of(run, checks), run.seconds});
    return run;
  }

  /// One attempt: a problem, the time for each case, and the cases that were refuted.
  struct Attempt {
    const RealProblem& problem;
    double seconds;
    bool as_written;
    bool split;
    bool relaxed;  ///< the problem asks for less than the question, so only unsat counts
    std::vector<std::string> refuted;
    double refuted_seconds = 0;
  };

  /// Whether the case `given` is refuted, by itself or by its own cases, which are those of the
  /// signs of one more vector. If it is satisfiable, sets the witness, which ends the search.
  bool refutes(Attempt& attempt, const std::string& given, std::size_t depth) {
    const RealProblem& problem = attempt.problem;
    const bool last = !attempt.split || depth == problem.cases.size() ||
                      problem.cases[depth].size() > most_entries;
    for (int time = 0; time < (last && attempt.split ? 2 : 1); ++time) {
      if (part_.over()) return false;
      std::string text = problem.text + given + "(check-sat)\n";
      if (!problem.unknowns.empty())
        text += fmt::format("(get-value ({}))\n", fmt::join(problem.unknowns, " "));
      const ProgramRun run =
          run_one(installed_[0], text, 1, attempt.as_written != (time == 1), attempt.seconds);
      const SolverSaid::Run& said = answer_.runs.back();
      attempt.refuted_seconds += said.seconds;
      if (said.answer == "unsat") {
        attempt.refuted.push_back(given);
        return true;
      }
      if (said.answer == "sat" && attempt.relaxed) return false;
      if (said.answer == "sat") {
        said_sat_ = true;
        if (const auto values = smt_values(run.output, problem.unknowns))
          answer_.witness = problem.seal(*values);
        // Without a witness f64 cannot hold these numbers; those of another attempt may fit.
        return false;
      }
    }
    if (last) return false;
    const std::vector<std::string>& entries = problem.cases[depth];
    // Entries sum to 1, so not all are negative: signs start from 1.
    for (std::uint64_t signs = 1; signs < std::uint64_t{1} << entries.size(); ++signs) {
      std::string inner = given;
      for (std::size_t e = 0; e < entries.size(); ++e)
        inner += smt_sign(entries[e], (signs >> e & 1U) != 0);
      if (!refutes(attempt, inner, depth + 1)) return false;
    }
    return true;
  }

  /// Tries to refute free queries and keys. What is impossible for these is also impossible for
  /// those that share inputs, and it is easier to refute.
  bool refuted_without_sharing() {
    const auto problem = signs_ ? free_problem(pattern_, *signs_, dim_, 0, threads_) : std::nullopt;
    if (!problem) return false;
    Attempt attempt{*problem, first_seconds, false, false, true, {}, 0};
    if (!refutes(attempt, {}, 0)) return false;
    believe(attempt);
    answer_.without_sharing = true;
    return true;
  }

  /// Makes one attempt; returns whether it answered the question.
  bool answers(const RealProblem& problem, std::uint64_t number, double seconds) {
    Attempt attempt{problem, seconds, number % 2 == 1, number >= whole_attempts, false, {}, 0};
    if (refutes(attempt, {}, 0)) {
      believe(attempt);
      return true;
    }
    if (answer_.witness)
      answer_.outcome = fmt::format("{} gave numbers that hold", installed_[0].version);
    return answer_.witness.has_value();
  }

  /// Asks the other solvers about what the first one refuted.
  void believe(const Attempt& attempt) {
    SolverSaid refuted{{{installed_[0].version, "unsat", attempt.refuted_seconds}},
                       attempt.problem.text};
    const auto checks = std::ssize(attempt.refuted);
    if (checks > 1)
      refuted.problem +=
          fmt::format("; {} cases by signs, which leave none out: unsat if all are.\n", checks);
    for (const std::string& given : attempt.refuted)
      refuted.problem +=
          checks > 1 ? "(push 1)\n" + given + "(check-sat)\n(pop 1)\n" : "(check-sat)\n";
    answer_.outcome = fmt::format("{} says unsat", installed_[0].version);
    for (std::size_t other = 1; other < installed_.size(); ++other) {
      run_one(installed_[other], refuted.problem, checks, false,
              least_check_seconds + check_factor * attempt.refuted_seconds);
      refuted.runs.push_back(answer_.runs.back());
      said_sat_ = said_sat_ || refuted.runs.back().answer == "sat";
      answer_.outcome +=
          fmt::format(", {} {}", refuted.runs.back().program, refuted.runs.back().answer);
    }
    if (said_sat_)
      answer_.outcome = "solvers contradict each other";
    else
      answer_.refuted = std::move(refuted);
  }

  const Pattern& pattern_;
  std::int64_t dim_;
  std::optional<std::int64_t> hidden_;
  int threads_;
  Clock::Part& part_;
  std::optional<SignMatrix> signs_;
  std::vector<Installed> installed_;
  TempFolder folder_;
  SolverAnswer answer_;
  bool said_sat_ = false;
};

}  // namespace

SolverAnswer ask_reals(const Pattern& pattern, std::int64_t dim, std::optional<std::int64_t> hidden,
                       int threads, Clock::Part& part) {
  return Asking(pattern, dim, hidden, threads, part).run();
}

}  // namespace tamis::lab::decision
