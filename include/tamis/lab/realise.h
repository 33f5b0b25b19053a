// Finds queries and keys (a witness) that produce a given pattern, in few dimensions or with small
// norms, and verifies them before it returns them. Also computes the frontier, the smallest norm
// found for each dimension. Every dimension here is the number m of columns of q and k; the paper's
// d is 2m.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/export.h>
#include <tamis/lab/bounds.h>
#include <tamis/lab/pattern.h>
#include <tamis/lab/verify.h>
#include <tamis/lab/witness.h>
#include <tamis/progress.h>

namespace tamis::lab {

/// The methods that make a witness:
///   jl       the paper's random projection: square patterns, any dimension that is large enough
///   moment   a closed form on a circle: dimension 2k for k nonzeros per row, very large norms
///   descent  optimised queries and keys: any dimension
/// `automatic` tries descent; from dimension 2k on, where descent found nothing, also moment and a
/// descent from its points; up to 4k, where the norm product has no limit, moment in any case. A
/// search for the least dimension of a square pattern ends with jl, in as many columns as rows, if
/// nothing else succeeded.
enum class Method { automatic, jl, moment, descent };
TAMIS_API const char* name_of(Method method);
/// The method whose `name_of` is `name`; that of `automatic` is "auto". Throws `usage` for any
/// other name.
TAMIS_API Method method_named(const std::string& name);

struct RealiseOptions {
  Method method = Method::automatic;
  Conditions conditions;
  /// Columns of q and k. Without it, the least dimension that can be verified under `max_norm`; for
  /// method jl the sharper bound on the dimension (at most the rows), and for moment 2k.
  std::optional<std::int64_t> dim;
  /// Largest norm product max‖q‖·max‖k‖ to accept. Without it, a search for the least dimension
  /// uses the norm product of the paper's own construction for this pattern (`paper_norm`), and a
  /// given dimension has no limit. Not allowed for weak conditions, which hold at any scale.
  std::optional<double> max_norm;
  /// d_hid; adds x, w_q and w_k of the paper's shapes. For method jl only, and at least 2·dim.
  std::optional<std::int64_t> hidden;
  std::int64_t redraws = 0;  ///< jl: draws for one dimension; 0: as many as rows
  std::int64_t steps = 0;    ///< descent: steps for one dimension; 0: the default
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: every core; the result does not depend on it
};

/// One attempt, successful or not.
struct Attempt {
  Method method = Method::descent;
  std::int64_t dim = 0;
  bool verified = false;  ///< the conditions hold exactly and the norm product is in its limit
  /// max‖q‖·max‖k‖ of the witness that was made, also if that is above the limit; infinite if none.
  double norm_product = std::numeric_limits<double>::infinity();
  double max_logit = std::numeric_limits<double>::infinity();
  double seconds = 0;
  std::string why;  ///< if not verified: what went wrong, a clause for messages
};

struct Realisation {
  std::optional<Witness> witness;  ///< verified in exact arithmetic; none if nothing was found
  Verification verification;       ///< of the witness
  Method method = Method::descent;
  std::int64_t dim = 0;
  std::int64_t redraws = 0;  ///< number of jl draws examined
  double seconds = 0;
  std::vector<Attempt> attempts;  ///< everything tried, in order
};

/// Looks for a witness as the options ask. Its tensors are f32 where that verifies, else f64. The
/// same seed gives the same bits for any number of threads. Throws `usage` for options outside
/// their range, and `input` for a pattern that does not fit the options.
///
/// In a rectangular pattern equal columns share their key, so memory is linear in nonzeros + (rows
/// + different columns)·dim until the witness, which has a key for every column, is expanded.
/// Throws `input` if these keys would take more than 256 MiB while fewer than one column in 16 has
/// a nonzero and the columns have no names. Method jl needs up to 4·rows² doubles.
TAMIS_API Realisation realise(const Pattern& pattern, const RealiseOptions& options,
                              const ProgressCallback& progress = {});

/// The norm product max over rows of ‖B_i‖, where B is the matrix of equation (9), which the paper
/// projects; the keys are orthonormal. The projected queries and keys come near it. Returns 0 for
/// weak conditions, which hold at any scale.
TAMIS_API double paper_norm(const Pattern& pattern, const Conditions& conditions);

/// A lower bound on the norm product of every witness: log(1/ε₁)·(n − k)/n for a square pattern
/// with k nonzeros in each row and each column and conditions that are neither weak nor causal.
/// Returns 0 in all other cases.
TAMIS_API double norm_lower_bound(const Pattern& pattern, const Conditions& conditions);

struct FrontierOptions {
  Conditions conditions;
  /// Ascending; empty takes those of 2, 3, 4, 6, 8, 12, … 64 that are below the number of columns.
  std::vector<std::int64_t> dims;
  std::int64_t steps = 0;  ///< as in `RealiseOptions`
  std::uint64_t seed = 0;
  int threads = 0;
};
struct Frontier {
  std::vector<Attempt> points;  ///< the smallest norm product that `realise` finds, by dimension
  double lower_bound = 0;       ///< `norm_lower_bound`
  double paper = 0;             ///< `paper_norm`
  std::optional<DimensionBound> paper_bound;    ///< of the pattern, as in bounds.h
  std::optional<DimensionBound> sharper_bound;  ///< of the pattern, as in bounds.h
};
/// Runs `realise` once for each dimension. Throws `usage` if the dimensions do not ascend or one is
/// below 1, and whatever `realise` throws.
TAMIS_API Frontier frontier(const Pattern& pattern, const FrontierOptions& options,
                            const ProgressCallback& progress = {});

}  // namespace tamis::lab
