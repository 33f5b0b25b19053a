// Keys that exist because there are few columns or few rows. The rules are exact for columns ≤ d +
// 2 and rows ≤ d + 1, where d is the number of columns of the keys. They cost no more than the
// matrix itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/decide/sign_matrix.h"
#include "lab/realise/candidate.h"

namespace tamis::lab::decision {

/// Keys of the pattern's columns, columns × dim numbers, without queries.
struct Keys {
  std::int64_t dim = 0;
  std::vector<double> k;
};

/// Keys in the fewest dimensions that the number c of kinds of columns alone gives. In general that
/// is a simplex in c − 1 dimensions. If no row makes some split of all columns in two, it is two
/// simplices of the two parts with a common centre, in c − 2 dimensions: this split is the only one
/// that no halfspace makes (Radon). Exact for c ≤ d + 2.
Keys keys_of_few_columns(const SignMatrix& signs);

/// The same for r rows, the row of ones not counted. In general there is one coordinate for each
/// row, r in all. If one of the 2^r sign vectors is not a column, r − 1 dimensions are enough: on
/// columns that all differ from it the last row's sign is an affine function of the others. Nothing
/// if r ≥ 4096.
std::optional<Keys> keys_of_few_rows(const SignMatrix& signs);

/// The simplex with its queries, in c − 1 dimensions for c kinds of columns, with entries 0 and ±1.
/// It is for many columns, where the search for shortest queries takes long and nothing better may
/// be found. Nothing if it would take more than 2^26 numbers.
std::optional<realisation::Candidate> simplex_with_queries(const Pattern& pattern,
                                                           const SignMatrix& signs);

}  // namespace tamis::lab::decision
