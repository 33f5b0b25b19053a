// Puts a refutation into words: which rows and columns forbid a dimension. Rows and columns have
// the names that the pattern's file gives them.
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

/// Returns one or a few sentences. Rows and columns without names are counted from 0.
std::string refutation_words(const lab::Pattern& pattern, const lab::Refutation& refutation);

/// Returns the members of the refutation's file without the clauses of a proof and the problem of
/// a solver, which can be long.
nlohmann::ordered_json refutation_json(const lab::Refutation& refutation);

}  // namespace tamis::cli
