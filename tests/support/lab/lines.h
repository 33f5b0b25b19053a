// Patterns made so that their answer in dimension 1 is known, and a check of answers.
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

/// A pattern that free queries and keys can realise: every row is a set at one end of a random
/// order of the columns. One row in eight contains all columns.
Matrix planted_line(Dice& dice, std::int64_t rows, std::int64_t cols);
/// A pattern of hidden size 1: rows of c·x·xᵀ, with x random, are compared with thresholds. One
/// row in eight contains all columns.
Matrix planted_product(Dice& dice, std::int64_t n);
/// A pattern that is not realisable: a planted line with two rows that cross. Needs at least 2 × 4.
Matrix planted_crossing(Dice& dice, std::int64_t rows, std::int64_t cols);
/// A pattern that is not realisable: no two of the planted rows cross, but of three rows two are
/// disjoint and the third contains both or is disjoint from both. Needs at least 3 × 4.
Matrix planted_triple(Dice& dice, std::int64_t rows, std::int64_t cols);
/// Realisable with free queries and keys, but not with hidden size 1. n ≥ 3.
Matrix planted_conflict(Dice& dice, std::int64_t n);

/// Empty if the answer is proven: either a witness in the requested form that holds exactly, or a
/// refutation that its checkers accept. Otherwise says what is wrong.
std::string flaw_of(const lab::Pattern& pattern,
                    const std::variant<lab::Witness, lab::Refutation>& answer,
                    std::optional<std::int64_t> hidden);

}  // namespace tamis::test
