// A refutation in words: which rows and columns forbid a dimension, by the names that the pattern's
// file has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include <tamis/lab/pattern.h>
#include <tamis/lab/refutation.h>

namespace tamis::cli {

/// "rows" and "columns", or "queries" and "documents" where the file has names (qrels).
struct Words {
  std::string row, rows, column, columns;
};
Words words_of(const lab::Pattern& pattern);

/// One or a few sentences. Rows and columns count from 0.
std::string refutation_words(const lab::Pattern& pattern, const lab::Refutation& refutation);

/// The members of its file, without the clauses of a proof and the problem of a solver, which can
/// be long.
nlohmann::ordered_json refutation_json(const lab::Refutation& refutation);

}  // namespace tamis::cli
