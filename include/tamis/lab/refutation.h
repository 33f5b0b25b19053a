// A refutation is evidence that no queries and keys of a given number of columns weakly produce a
// pattern (witness.h). It is the counterpart of a witness: numbers that anyone can check against
// the pattern alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>

namespace tamis::lab {

// In this file, I_r is the set of columns with a nonzero in row r. Rows and columns count from 0.
// `ones_row` stands for a row of ones, which may be added to every pattern because it imposes no
// condition. docs/refutation.md has the proofs.
inline constexpr std::int64_t ones_row = -1;

/// A relation between two rows in dimension 1, shown by two columns. In dimension 1 queries and
/// keys are numbers, so every I_r other than the set of all columns is an upper set (the columns of
/// the largest keys) or a lower set (those of the smallest keys).
///   same      `first` is in both I_a and I_b, `second` in neither: both are upper or both lower
///   opposite  `first` is in I_a alone, `second` in I_b alone: one is upper, the other lower
/// For `same`, a = b is allowed; then `first` is in I_a and `second` is not.
struct Relation {
  std::int64_t a = 0;
  std::int64_t b = 0;
  bool same = true;
  std::int64_t first = 0;
  std::int64_t second = 0;
};

/// Refutes dimension 1. The relations form a cycle: each ends at the row where the next begins, and
/// the last ends where the first began. An odd number of them are opposite, so the rows cannot all
/// be upper or lower sets. Two relations are a pair of rows that cross, three a triple of rows
/// without consistent directions.
struct OddCircle {
  std::vector<Relation> relations;
};

/// Shows the sign of c in dimension 1 with hidden size 1, where L_ij = c·x_i·x_j. Rows a and b are
/// opposite, so x_a and x_b have different signs. Row t has a nonzero in column a and none in
/// column b, so c is positive if rows t and a are the same, and negative if they are opposite.
struct SignOfC {
  std::int64_t t = 0;
  Relation apart;  ///< between a and b, which are opposite
  Relation turn;   ///< between t and a
};
/// Refutes dimension 1 with hidden size 1: `plus` shows that c > 0, `minus` that c < 0.
struct SignConflict {
  SignOfC plus, minus;
};

/// A set of c elements of which each of the 2^(c−1) splits in two is made by some cut. By Radon's
/// theorem the sign-rank (the least rank of a real matrix with the same signs) is then at least c,
/// and the dimension at least c − 1. Elements are columns and cuts are rows, or the other way
/// round; either way `ones_row` may be among the rows. cuts[s] separates element e ≥ 1 from element
/// 0 if and only if bit e − 1 of s is 1.
struct FullSet {
  bool of_columns = true;
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> cuts;
};

/// Forster's bound with weights. Let M be the signs (+1 for a nonzero, −1 for a zero) of some rows
/// and columns, and p and w any positive weights of these rows and columns. Then the sign-rank is
/// at least √(Σp·Σw)/‖diag(p)^½·M·diag(w)^½‖₂.
struct Spectral {
  std::vector<std::int64_t> rows;  ///< may hold ones_row
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> row_weights;
  std::vector<std::int64_t> column_weights;
};

/// A proof that the (dim + 1)-tuples of some elements cannot be oriented in such a way that the
/// orientations obey the Grassmann–Plücker relations and make every cut possible. There is one
/// variable for the orientation of each tuple; the clauses over these variables are refuted by
/// reverse unit propagation. docs/order-proofs.md has the clauses and numbers the variables.
struct OrderProof {
  bool of_columns = true;
  std::vector<std::int64_t> elements;  ///< ascending; columns, or rows with perhaps ones_row
  std::vector<std::int64_t> cuts;      ///< ascending; rows with perhaps ones_row, or columns
  std::vector<std::vector<std::int32_t>> clauses;  ///< in order of derivation; the last is empty
};

/// The answer of an SMT solver. It is not a proof and is not checked here. The problem is kept so
/// that it can be given to another solver.
struct SolverSaid {
  struct Run {
    std::string program;  ///< its name and version
    std::string answer;   ///< "unsat", "unknown", "timeout", "memory" or "failed"
    double seconds = 0;
  };
  std::vector<Run> runs;  ///< the first answers "unsat", and none answers "sat"
  std::string problem;    ///< the whole problem in SMT-LIB 2
};

using Grounds = std::variant<OddCircle, SignConflict, FullSet, Spectral, OrderProof, SolverSaid>;
/// "odd circle", "sign conflict", "full set", "spectral", "order proof" or "solver".
TAMIS_API const char* name_of(const Grounds& grounds);

struct Refutation {
  std::int64_t dim = 0;                ///< no witness of this many columns or fewer exists
  std::optional<std::int64_t> hidden;  ///< if set, the claim is only for d_hid ≤ hidden
  Grounds grounds;

  /// Whether the grounds can be checked from the pattern. If not, it rests on a solver's answer.
  [[nodiscard]] bool proved() const { return !std::holds_alternative<SolverSaid>(grounds); }
};

/// The outcome of a check. It holds if the grounds are true of the pattern and rule out the
/// dimension; otherwise `why` is a clause that says what is wrong. A solver's answer never holds,
/// because it is not a proof.
struct RefutationCheck {
  bool holds = false;
  std::string why;
};
/// Checks a refutation with code that shares nothing with the search for refutations. Cost: a
/// binary search for each entry that is read; for `Spectral` also the Gram matrix of the smaller
/// side and its Cholesky factor, for `OrderProof` unit propagation over all its clauses. Throws
/// `input` for a pattern that breaks the rules of pattern.h. Concurrent calls are safe.
TAMIS_API RefutationCheck check_refutation(const Pattern& pattern, const Refutation& refutation);

/// Reads the JSON format of docs/refutation.md. Throws `input` with a sentence that names the
/// member at fault. This checks the form of the file; `check_refutation` checks the claim.
TAMIS_API Refutation read_refutation(const std::string& path);
/// Writes the same format.
TAMIS_API void write_refutation(const std::string& path, const Refutation& refutation);
/// The text that `write_refutation` writes.
TAMIS_API std::string refutation_text(const Refutation& refutation);

}  // namespace tamis::lab
