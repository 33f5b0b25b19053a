// Patterns whose answer in dimension 1 is known because they were made with it, and the judge of an
// answer.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>
#include <tamis/lab/witness.h>
#include "support/lab/printed_algorithm.h"
#include "support/lab/witnesses.h"

namespace tamis::test {

lab::Pattern pattern_of(const RowSets& rows);

/// Yes for free queries and keys: every row a set at one end of a random order of the columns. One
/// row in eight is all columns.
Matrix planted_line(Dice& dice, std::int64_t rows, std::int64_t cols);
/// Yes for hidden size 1: thresholds on the rows of c·x·xᵀ, x random; one row in eight is all
/// columns.
Matrix planted_product(Dice& dice, std::int64_t n);
/// No: a planted line two of whose rows cross. At least 2 × 4.
Matrix planted_crossing(Dice& dice, std::int64_t rows, std::int64_t cols);
/// No, though none of the planted rows cross: three rows, of which two are disjoint and the third
/// contains both, or is disjoint from both. At least 3 × 4.
Matrix planted_triple(Dice& dice, std::int64_t rows, std::int64_t cols);
/// Yes for free queries and keys, no for hidden size 1. n ≥ 3.
Matrix planted_conflict(Dice& dice, std::int64_t n);

/// Empty if the answer proves itself: a witness in the form that was asked for that holds exactly,
/// or a refutation that its checkers accept.
std::string flaw_of(const lab::Pattern& pattern,
                    const std::variant<lab::Witness, lab::Refutation>& answer,
                    std::optional<std::int64_t> hidden);

}  // namespace tamis::test
