// The search between the two bounds on d_min. Each step raises the lower bound with a checked
// refutation, lowers the upper bound with a verified witness, or records why it did neither. All
// dimensions are columns of queries and keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tamis/error.h>
#include <tamis/lab/decide.h>
#include "lab/decide/clock.h"
#include "lab/decide/sign_matrix.h"
#include "lab/decide/small_cases.h"
#include "lab/realise/seal.h"

namespace tamis::lab::decision {

inline constexpr Conditions weak_conditions{.weak = true};

/// The pattern to decide. `pattern` consists of those columns of `given` that `columns` lists, or
/// of all of them if the list is empty. Witnesses are for `pattern`, refutations for `given`.
struct Question {
  const Pattern& pattern;
  const Pattern& given;
  std::vector<std::int64_t> columns;
};

class BoundSearch {
 public:
  /// Keeps its arguments by reference, apart from the list of columns.
  BoundSearch(Question question, const DecideOptions& options, Clock& clock, Decision& decision);

  /// Runs all steps in turn, until the question is answered or the clock is over.
  void run();

 private:
  struct Started {
    std::string what;
    std::int64_t dim;
    double at;
  };

  [[nodiscard]] bool answered() const;
  /// Whether queries and keys of so many columns need not share inputs.
  [[nodiscard]] bool free_at(std::int64_t dim) const;
  /// The largest dimension of interest.
  [[nodiscard]] std::int64_t most_dim() const;
  [[nodiscard]] Clock::Part share(double of_limit) {
    return {clock_, of_limit * options_.time_limit};
  }

  [[nodiscard]] bool is_small() const;

  void record(const Started& started, std::string outcome);
  [[nodiscard]] Started start(std::string what, std::int64_t dim) const;
  /// The refutation with the column numbers of the given pattern.
  [[nodiscard]] Refutation of_given(Refutation refutation) const;
  /// Records the outcome and takes the refutation if it raises the lower bound. It must pass its
  /// check, unless it is a solver's word.
  bool refute(const Started& started, Refutation refutation, const std::string& outcome);
  void raise(Refutation refutation);
  /// Takes the witness if its dimension is below that of the last one.
  bool accept(const Started& started, realisation::Sealed sealed, std::int64_t dim,
              const char* method);
  bool accept(const Started& started, Witness witness, const Verification& verification,
              std::int64_t dim, const char* method);
  bool try_keys(Started started, const Keys& keys, const char* method);
  /// Runs `work`, which a part of the clock may cancel. Returns false if it is cancelled, else the
  /// result of `work`.
  template <class Work>
  bool cancellable(const Started& started, Work&& work) try {
    return work();
  } catch (const Error& error) {
    if (error.code() != Code::cancelled) throw;
    record(started, "its time was up");
    return false;
  }

  void line();
  void small_cases();
  void curve();
  void full_sets();
  void spectral();
  void moment();
  void simplex();
  void descents();
  bool descent(std::int64_t dim, std::uint64_t seed, Clock::Part& part);
  bool descend_again(std::int64_t dim);
  void shared();
  void solvers();
  bool order_types(std::int64_t dim);
  bool reals(std::int64_t dim);

  /// The share of the time limit for making queries for keys in closed form.
  static constexpr double seal_share = 0.2;
  /// Above this dimension the closed forms take too long.
  static constexpr std::int64_t most_closed_dim = 256;

  const Question question_;
  const Pattern& pattern_;
  const DecideOptions& options_;
  Clock& clock_;
  Decision& decision_;
  std::optional<SignMatrix> signs_;
};

}  // namespace tamis::lab::decision
