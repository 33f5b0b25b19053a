// A refutation: why no queries and keys of so many columns weakly produce a pattern. What a witness
// is to "yes", a refutation is to "no": numbers that a stranger checks against the pattern alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>

namespace tamis::lab {

// Throughout, I_r is the set of columns with a nonzero in row r, and `ones_row` stands for the row
// of ones that may be added to every pattern (it asks for nothing). Rows and columns count from 0.
// docs/refutation.md has the proofs.
inline constexpr std::int64_t ones_row = -1;

/// On a line every I_r that is not all columns is an upper or a lower set of the keys' order.
///   same      `first` is in both I_a and I_b, `second` in neither: both upper or both lower
///   opposite  `first` is in I_a alone, `second` in I_b alone: one upper, one lower
/// a = b is allowed if same: `first` is in I_a, `second` not.
struct Relation {
  std::int64_t a = 0;
  std::int64_t b = 0;
  bool same = true;
  std::int64_t first = 0;
  std::int64_t second = 0;
};

/// Dimension 1: relations a₁b₁, b₁b₂, …, b_m a₁ round a circle, an odd number of them opposite. Two
/// are a crossing pair of rows, three a triple that cannot be directed.
struct OddCircle {
  std::vector<Relation> relations;
};

/// Dimension 1, hidden size 1: L_ij = c·x_i·x_j. Rows a and b are opposite, so x_a and x_b have
/// different signs; row t has a nonzero in column a and none in column b, so c has the sign + if t
/// and a are the same, − if they are opposite.
struct SignOfC {
  std::int64_t t = 0;
  Relation apart;  ///< of a and b, opposite
  Relation turn;   ///< of t and a
};
/// The first says +, the second −.
struct SignConflict {
  SignOfC plus, minus;
};

/// A set of c elements all of whose 2^(c−1) splits in two are cut out, so that sign-rank is at
/// least c and the dimension at least c − 1 (Radon). Elements are columns and cuts rows, or the
/// other way round. cuts[s] tells element e ≥ 1 from element 0 if and only if bit e − 1 of s is 1.
/// `ones_row` may be a cut among rows, or an element among rows.
struct FullSet {
  bool of_columns = true;
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> cuts;
};

/// Forster's bound with weights: sign-rank is at least √(Σp·Σw)/‖diag(p)^½·M·diag(w)^½‖₂ for the
/// signs M
/// (+1 nonzero, −1 zero) of some rows and columns and any positive weights p of these rows and w of
/// these columns.
struct Spectral {
  std::vector<std::int64_t> rows;  ///< may hold ones_row
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> row_weights;
  std::vector<std::int64_t> column_weights;
};

/// No orientations of the (dim + 1)-tuples of some elements (the order type of keys) obey the
/// Grassmann–Plücker relations and leave every cut possible: clauses over one variable per tuple,
/// and a refutation of them by reverse unit propagation. docs/order-proofs.md numbers the
/// variables.
struct OrderProof {
  bool of_columns = true;
  std::vector<std::int64_t> elements;  ///< ascending; columns, or rows and perhaps ones_row, first
  std::vector<std::int64_t> cuts;  ///< likewise ascending: rows and perhaps ones_row, or columns
  std::vector<std::vector<std::int32_t>>
      clauses;  ///< learnt one after the other; the last is empty
};

/// The word of a program. Not checked here: the problem is kept for whoever wants to ask another.
struct SolverSaid {
  struct Run {
    std::string program;  ///< its name and version
    std::string answer;   ///< "unsat", "unknown", "timeout", "memory" or "failed"
    double seconds = 0;
  };
  std::vector<Run> runs;  ///< the first says "unsat", and none "sat"
  std::string problem;    ///< SMT-LIB 2, whole
};

using Grounds = std::variant<OddCircle, SignConflict, FullSet, Spectral, OrderProof, SolverSaid>;
/// "odd circle", "sign conflict", "full set", "spectral", "order proof" or "solver".
TAMIS_API const char* name_of(const Grounds& grounds);

struct Refutation {
  std::int64_t dim = 0;                ///< no witness of so many columns exists, nor of fewer
  std::optional<std::int64_t> hidden;  ///< if set: for d_hid = hidden (and less) only
  Grounds grounds;

  /// Can be checked from the pattern; otherwise it rests on a solver's word.
  [[nodiscard]] bool proved() const { return !std::holds_alternative<SolverSaid>(grounds); }
};

/// Whether the grounds are what they say of this pattern and rule out the dimension. `why` is a
/// clause that says what is wrong. A solver's word never holds: it is not a proof.
struct RefutationCheck {
  bool holds = false;
  std::string why;
};
/// Uses nothing that makes refutations. Cost: a binary search per entry looked at; for `spectral`
/// the Gram matrix of the smaller side and its Cholesky factor, for an order proof unit propagation
/// over all its clauses. Throws `input` for a pattern that is not what its header promises.
/// Concurrent calls are safe.
TAMIS_API RefutationCheck check_refutation(const Pattern& pattern, const Refutation& refutation);

/// JSON (docs/refutation.md). Reading throws `input` with a sentence that names the member at
/// fault; whether it is true of a pattern is asked of `check_refutation`.
TAMIS_API Refutation read_refutation(const std::string& path);
TAMIS_API void write_refutation(const std::string& path, const Refutation& refutation);
/// What `write_refutation` writes.
TAMIS_API std::string refutation_text(const Refutation& refutation);

}  // namespace tamis::lab
