// Queries and keys that produce a pattern, in few dimensions or with small norms, verified before
// they are returned; and the frontier between the two.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// Ways to make a witness:
///   jl       the paper's random projection: square patterns, any dimension that is large enough
///   moment   closed form on a curve: dimension 2k for k nonzeros per row, huge norms
///   descent  optimised queries and keys: any dimension
enum class Method { automatic, jl, moment, descent };
TAMIS_API const char* name_of(Method method);
/// Throws `usage` for another name than those of `name_of`; "auto" is automatic.
TAMIS_API Method method_named(const std::string& name);

struct RealiseOptions {
  Method method = Method::automatic;
  Conditions conditions;
  /// Columns of q and k. Without it: the least dimension that can be verified under max_norm; for
  /// jl the sharper bound on the dimension, for moment 2k.
  std::optional<std::int64_t> dim;
  /// Largest norm product max‖q‖·max‖k‖ to accept; without it, where no dimension is given, that of
  /// the paper's own construction for this pattern (`paper_norm`). Not for weak conditions: they
  /// hold at any scale.
  std::optional<double> max_norm;
  /// d_hid: adds x, w_q and w_k of the paper's shapes. jl only; at least 2·dim.
  std::optional<std::int64_t> hidden;
  std::int64_t redraws = 0;  ///< of jl for one dimension; 0: as many as rows
  std::int64_t steps = 0;    ///< of descent for one dimension; 0: its default
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: every core; the result does not depend on it
};

/// One attempt, successful or not.
struct Attempt {
  Method method = Method::descent;
  std::int64_t dim = 0;
  bool verified = false;
  double norm_product = std::numeric_limits<double>::infinity();  ///< of the verified witness
  double max_logit = std::numeric_limits<double>::infinity();
  double seconds = 0;
  std::string why;  ///< what went wrong, a clause, if it is not verified
};

struct Realisation {
  std::optional<Witness> witness;  ///< verified in exact arithmetic; none if nothing was found
  Verification verification;       ///< of the witness
  Method method = Method::descent;
  std::int64_t dim = 0;
  std::int64_t redraws = 0;  ///< draws of jl that were looked at
  double seconds = 0;
  std::vector<Attempt> attempts;  ///< everything tried, in order
};

/// Tries what the options ask for. Tensors are f32 where that verifies, else f64. Same seed, same
/// bits, for any number of threads. Throws `usage` for options outside their range, `input` for a
/// pattern that they do not fit. In a rectangular pattern equal columns share their key, so memory
/// is linear in nonzeros + (rows + different columns)·dim until the witness, which has a key for
/// every column, is spread out; `input` if its keys would take more than 256 MiB while fewer than
/// one column in 16 has a nonzero and columns have no names. jl needs up to 4·rows² doubles.
TAMIS_API Realisation realise(const Pattern& pattern, const RealiseOptions& options,
                              const ProgressCallback& progress = {});

/// The norm product of the matrices whose product is B of equation (9), which the paper projects:
/// max over rows of ‖B_i‖ (keys are orthonormal). The projected ones come near it. Weak conditions,
/// which hold at any scale, have none: 0.
TAMIS_API double paper_norm(const Pattern& pattern, const Conditions& conditions);

/// Every witness of a pattern with as many nonzeros in each column as in each row has a norm
/// product above log(1/ε₁)·(n − k)/n; for other patterns this is 0. Weak conditions: 0.
TAMIS_API double norm_lower_bound(const Pattern& pattern, const Conditions& conditions);

struct FrontierOptions {
  Conditions conditions;
  std::vector<std::int64_t>
      dims;  ///< ascending; empty: 2, 3, 4, 6, 8, 12, … up to 64 and below the columns
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  int threads = 0;
};
struct Frontier {
  std::vector<Attempt>
      points;  ///< for each dimension the smallest norm product found, as `realise` does
  double lower_bound = 0;          ///< `norm_lower_bound`
  double paper = 0;                ///< `paper_norm`
  std::int64_t paper_bound = 0;    ///< dimension m of bound (6)
  std::int64_t sharper_bound = 0;  ///< dimension m of the bound with k in place of k²
};
TAMIS_API Frontier frontier(const Pattern& pattern, const FrontierOptions& options,
                            const ProgressCallback& progress = {});

}  // namespace tamis::lab
