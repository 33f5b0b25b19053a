// The options of cadical make it never remove blocked, covered or globally blocked clauses. Nothing
// else that it does by default adds a clause that only preserves satisfiability. If it did, the
// replay would report it.
#include "lab/decide/orders/clause_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <sstream>

#include "core/file.h"
#include "lab/decide/solvers/subprocess.h"
#include "lab/decide/solvers/temp_folder.h"
#include "lab/verify/unit_propagation.h"

namespace tamis::lab::decision {
namespace {

/// Most steps kept for cutting a proof down: 1 GiB.
constexpr std::size_t most_steps = std::size_t{1} << 28;

std::string dimacs(const Formula& formula) {
  std::string text = fmt::format("p cnf {} {}\n", formula.variables, formula.clauses);
  std::array<char, 12> number;  // room for −2^31 and the character after it
  for (const std::int32_t literal : formula.literals) {
    char* const end = std::to_chars(number.data(), number.data() + number.size() - 1, literal).ptr;
    *end = literal == 0 ? '\n' : ' ';
    text.append(number.data(), end + 1);
  }
  return text;
}

/// Reads the lines of a textual proof that add a clause. False if the text is not such a proof.
bool parse(const std::string& text, std::vector<std::vector<std::int32_t>>& added) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const stop = std::find(at, end, '\n');
    if (stop == end) return false;
    if (*at != 'd') {
      std::vector<std::int32_t>& clause = added.emplace_back();
      std::int32_t literal = 1;
      while (literal != 0) {
        while (at != stop && *at == ' ') ++at;
        const auto [after, error] = std::from_chars(at, stop, literal);
        if (error != std::errc()) return false;
        if (literal != 0) clause.push_back(literal);
        at = after;
      }
    }
    at = stop + 1;
  }
  return true;
}

/// The values on the lines that begin with "v".
Satisfiable values_of(const std::string& output, std::int32_t variables) {
  Satisfiable result{std::vector<bool>(static_cast<std::size_t>(variables), false)};
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("v ")) continue;
    std::istringstream literals(line.substr(2));
    for (std::int32_t literal = 0; literals >> literal;)
      if (literal > 0 && literal <= variables)
        result.values[static_cast<std::size_t>(literal) - 1] = true;
  }
  return result;
}

/// Replays the proof, then goes through it backwards and keeps only the steps on which the
/// contradiction rests.
ClauseAnswer replayed(const Formula& formula, std::vector<std::vector<std::int32_t>>& added,
                      Clock::Part& part) {
  verification::UnitPropagation known(formula.variables);
  for (auto at = formula.literals.begin(); at != formula.literals.end();) {
    const auto stop = std::find(at, formula.literals.end(), 0);
    known.add(std::span(at, stop));
    at = stop + 1;
  }
  std::vector<std::uint32_t> steps;
  std::vector<std::size_t> start{0};
  std::vector<std::int64_t> used;
  for (std::size_t i = 0; i < added.size() && !known.contradiction(); ++i) {
    if (i % 64 == 0 && part.over())
      return NoAnswer{"the time was over while cadical's proof was replayed"};
    if (!known.implies(added[i], &used))
      return NoAnswer{"cadical's proof has a step beyond unit propagation"};
    if (steps.size() + used.size() > most_steps) return NoAnswer{"cadical's proof is too long"};
    steps.insert(steps.end(), used.begin(), used.end());
    start.push_back(steps.size());
    known.add(added[i]);
  }
  if (!known.contradiction()) return NoAnswer{"cadical's proof ends without a contradiction"};

  const auto own = static_cast<std::size_t>(formula.clauses);
  std::vector<bool> needed(own + start.size() - 1, false);
  (void)known.implies({}, &used);
  for (std::int64_t clause : used) needed[static_cast<std::size_t>(clause)] = true;
  for (std::size_t i = start.size() - 1; i-- > 0;)
    if (needed[own + i])
      for (std::size_t s = start[i]; s < start[i + 1]; ++s) needed[steps[s]] = true;
  ClauseProof proof;
  for (std::size_t i = 0; i < own; ++i)
    if (needed[i]) proof.used.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i + 1 < start.size(); ++i)
    if (needed[own + i]) proof.learnt.push_back(std::move(added[i]));
  if (proof.learnt.empty() || !proof.learnt.back().empty()) proof.learnt.emplace_back();
  return proof;
}

}  // namespace

ClauseAnswer refute_clauses(const Formula& formula, std::int64_t conflicts, Clock::Part& part) {
  const TempFolder folder;
  const std::string problem = folder.write("clauses.cnf", dimacs(formula));
  const std::string proof = folder.path("clauses.drat");
  std::vector<std::string> arguments{"-q", "--no-binary", "--no-block", "--no-cover",
                                     "--no-condition"};
  if (conflicts >= 0) arguments.insert(arguments.end(), {"-c", fmt::format("{}", conflicts)});
  arguments.insert(arguments.end(), {problem, proof});
  const ProgramRun run = run_program("cadical", arguments, {}, part);
  switch (run.ended) {
    case Ended::absent:
      return NoAnswer{"cadical is not installed"};
    case Ended::time:
      return NoAnswer{"cadical did not end in time"};
    case Ended::memory:
      return NoAnswer{"cadical ran out of memory"};
    case Ended::failed:
      return NoAnswer{"cadical failed"};
    case Ended::exited:
      break;
  }
  if (run.output.find("s SATISFIABLE") != std::string::npos)
    return values_of(run.output, formula.variables);
  if (run.output.find("s UNSATISFIABLE") == std::string::npos) {
    if (conflicts >= 0 && run.status <= 0) return Undecided{};
    return NoAnswer{"cadical gave no answer"};
  }
  std::vector<std::vector<std::int32_t>> added;
  if (!parse(core::read_all(*core::open_file(proof)), added))
    return NoAnswer{"cadical's proof cannot be read"};
  return replayed(formula, added, part);
}

}  // namespace tamis::lab::decision
