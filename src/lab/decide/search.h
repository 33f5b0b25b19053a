// The search between the bounds: each step raises the lower one with a refutation that was checked,
// lowers the upper one with a witness that was verified, or says why it did neither.
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

/// What is decided: `pattern`, whose columns are those numbered `columns` of `given`, or all of
/// them if there is no list. Witnesses are of `pattern`, refutations of `given`.
struct Question {
  const Pattern& pattern;
  const Pattern& given;
  std::vector<std::int64_t> columns;
};

class BoundSearch {
 public:
  /// Keeps what it is given by reference.
  BoundSearch(Question question, const DecideOptions& options, Clock& clock, Decision& decision);

  /// Everything in turn, until the question is answered or the clock is over.
  void run();

 private:
  struct Started {
    std::string what;
    std::int64_t dim;
    double at;
  };

  [[nodiscard]] bool answered() const;
  /// Queries and keys of so many columns need share nothing.
  [[nodiscard]] bool free_at(std::int64_t dim) const;
  /// The largest dimension that the question is about.
  [[nodiscard]] std::int64_t most_dim() const;
  [[nodiscard]] Clock::Part share(double of_limit) {
    return {clock_, of_limit * options_.time_limit};
  }

  [[nodiscard]] bool is_small() const;

  void record(const Started& started, std::string outcome);
  [[nodiscard]] Started start(std::string what, std::int64_t dim) const;
  /// The same, about the columns of the pattern that was given.
  [[nodiscard]] Refutation of_given(Refutation refutation) const;
  /// Takes a refutation if it is higher and, unless it is a solver's word, checked.
  bool refute(const Started& started, Refutation refutation, const std::string& outcome);
  void raise(Refutation refutation);
  bool accept(const Started& started, realisation::Sealed sealed, std::int64_t dim,
              const char* method);
  bool try_keys(Started started, const Keys& keys, const char* method);
  /// Runs what a part of the clock may cut short; false if it did, or if `work` gives that.
  template <class Work>
  bool cancellable(const Started& started, Work&& work) try {
    return work();
  } catch (const Error& error) {
    if (error.code() != Code::cancelled) throw;
    record(started, "its time was up");
    return false;
  }

  void line();
  void few();
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

  /// Of the time limit, to make queries for keys in closed form.
  static constexpr double seal_share = 0.2;
  /// Beyond that many dimensions these take too long.
  static constexpr std::int64_t most_closed_dim = 256;

  const Question question_;
  const Pattern& pattern_;
  const DecideOptions& options_;
  Clock& clock_;
  Decision& decision_;
  std::optional<SignMatrix> signs_;
};

}  // namespace tamis::lab::decision
