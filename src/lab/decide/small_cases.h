// Keys that exist because there are few columns or few rows: exact rules for columns ≤ d + 2 and
// rows ≤ d
// + 1. Costs nothing beside the matrix itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/decide/sign_matrix.h"
#include "lab/realise/candidate.h"

namespace tamis::lab::decision {

/// Keys of the pattern's columns for some dimension: columns × dim, without queries.
struct Keys {
  std::int64_t dim = 0;
  std::vector<double> k;
};

/// The fewest dimensions that the number of kinds of columns gives: with c of them a simplex, c −
/// 1; or, if some split of all columns in two is not cut out, two simplices of these parts with a
/// common centre, c − 2: theirs is the only split that no halfspace makes (Radon). Exact for c ≤ d
/// + 2.
Keys keys_of_few_columns(const SignMatrix& signs);

/// The same for r rows without the row of ones: one coordinate for each, r; or, if some of the 2^r
/// sign vectors is no column, r − 1: on columns that all differ from it the last row's sign is an
/// affine function of the others. Nothing if r > 4096.
std::optional<Keys> keys_of_few_rows(const SignMatrix& signs);

/// The simplex with its queries: c kinds of columns, c − 1 dimensions, entries 0 and ±1. For many
/// columns, where looking for queries takes long and nothing better may be found. Nothing if it
/// would take more than 2^26 numbers.
std::optional<realisation::Candidate> simplex_with_queries(const Pattern& pattern,
                                                           const SignMatrix& signs);

}  // namespace tamis::lab::decision
