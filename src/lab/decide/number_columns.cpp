#include "lab/decide/number_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/fail.h"

namespace tamis::lab::decision {
namespace {

using Columns = std::vector<std::int64_t>;

void number(Columns& list, const Columns& columns) {
  for (std::int64_t& column : list) column = columns[static_cast<std::size_t>(column)];
}

void number_in(OddCircle& circle, const Columns& columns) {
  for (Relation& relation : circle.relations) {
    relation.first = columns[static_cast<std::size_t>(relation.first)];
    relation.second = columns[static_cast<std::size_t>(relation.second)];
  }
}

void number_in(SignConflict& /*conflict*/, const Columns& /*columns*/) {
  core::fail(Code::internal,
             "a sign conflict is of a square pattern, whose columns are as they are");
}

void number_in(FullSet& set, const Columns& columns) {
  number(set.of_columns ? set.elements : set.cuts, columns);
}

void number_in(Spectral& spectral, const Columns& columns) { number(spectral.columns, columns); }

void number_in(OrderProof& proof, const Columns& columns) {
  number(proof.of_columns ? proof.elements : proof.cuts, columns);
}

void number_in(SolverSaid& said, const Columns& columns) {
  said.problem =
      fmt::format(
          "; Equal columns of the pattern are there once. Columns 0, 1, … below are its columns "
          "{}.\n",
          fmt::join(columns, " ")) +
      said.problem;
}

}  // namespace

void number_columns(Grounds& grounds, const Columns& columns) {
  std::visit([&](auto& of) { number_in(of, columns); }, grounds);
}

}  // namespace tamis::lab::decision
