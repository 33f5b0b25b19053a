// Why the problem is equivalent to the question. A witness with d columns amounts to vectors p_i of
// the points (one side of the sign matrix) and c_j of the cuts (the other side) in R^(d+1) such
// that sign(p_i·c_j) is the matrix. These conditions are open, so any d + 1 points may be taken
// independent, and a change of basis makes them the unit vectors; entry l of c_j then has the sign
// of the matrix at point l. Positive factors of p_i and c_j change nothing, and neither does a
// factor −1 of p_i that is also applied to its signs. So the first cut may be taken as +
// everywhere, and the coordinates may be scaled until it is the vector of ones. Then every other
// p_i is scaled until its coordinates sum to 1, and every c_j until its first entry is ±1.
// Conversely, numbers that obey the conditions are such vectors.
#include <cmath>

#include "lab/decide/solvers/real_problem.h"
#include "lab/decide/solvers/smt_text.h"
#include "lab/realise/candidate.h"

namespace tamis::lab::decision {
namespace {

/// The sign matrix seen from one side, in the order of an attempt, and the names of its vectors.
struct Sides {
  const SignMatrix& signs;
  std::int64_t dim;
  bool points_are_columns;
  std::vector<std::int64_t> points, cuts;
  std::vector<bool> turned;  ///< for each point in that order: its signs are negated

  [[nodiscard]] bool sign(std::size_t point, std::size_t cut) const {
    const bool entry = points_are_columns ? signs.at(cuts[cut], points[point])
                                          : signs.at(points[point], cuts[cut]);
    return entry != turned[point];
  }
  [[nodiscard]] std::string row_name(std::int64_t row) const {
    const std::int64_t of = signs.row_of[static_cast<std::size_t>(row)];
    return of == ones_row ? "q_ones" : fmt::format("q_{}", of);
  }
  [[nodiscard]] std::string column_name(std::int64_t column) const {
    return fmt::format("k_{}", signs.column_of[static_cast<std::size_t>(column)]);
  }
  [[nodiscard]] std::string point_name(std::size_t place) const {
    return points_are_columns ? column_name(points[place]) : row_name(points[place]);
  }
  [[nodiscard]] std::string cut_name(std::size_t place) const {
    return points_are_columns ? row_name(cuts[place]) : column_name(cuts[place]);
  }
};

Sides make_sides(const SignMatrix& signs, std::int64_t dim, std::uint64_t attempt) {
  Sides sides{signs, dim, signs.cols <= signs.rows, {}, {}, {}};
  sides.points = attempt_order(sides.points_are_columns ? signs.cols : signs.rows, attempt);
  // If rows are the cuts, row 0, of ones, is the first cut, so that no column is turned.
  sides.cuts = attempt_order(sides.points_are_columns ? signs.rows : signs.cols, 0);
  sides.turned.assign(sides.points.size(), false);
  for (std::size_t i = 0; i < sides.points.size(); ++i) sides.turned[i] = !sides.sign(i, 0);
  return sides;
}

std::string meaning(const Sides& sides) {
  const char* points = sides.points_are_columns ? "k" : "q";
  const char* cuts = sides.points_are_columns ? "q" : "k";
  return fmt::format(
      "; Numbers: {0}_i_0 … {0}_i_{2} are vectors of {3}, {2} + 1 of which are fixed by a change "
      "of basis, the\n"
      "; others scaled to the sum 1; {1}_j_0 … {1}_j_{2} are vectors of {4}. Each entry of the "
      "pattern is the sign of\n"
      "; a product{5}. Rows and columns that ask for the same are there once; q_ones is a row of "
      "ones.\n",
      points, cuts, sides.dim, sides.points_are_columns ? "columns" : "rows",
      sides.points_are_columns ? "rows" : "columns",
      sides.points_are_columns
          ? ""
          : ", read the other way round in rows that have no one in the first column");
}

SmtText write(const Pattern& pattern, const Sides& sides) {
  const auto dim = static_cast<std::size_t>(sides.dim);
  SmtText text(problem_comment(pattern, sides.dim, std::nullopt) + meaning(sides));
  for (std::size_t i = dim + 1; i < sides.points.size(); ++i) {
    const std::string name = sides.point_name(i);
    std::string rest;
    for (std::size_t l = 1; l <= dim; ++l) {
      text.unknown(fmt::format("{}_{}", name, l));
      rest += fmt::format(" {}_{}", name, l);
    }
    text.define(name + "_0", fmt::format("(- 1.0{})", rest));
  }
  for (std::size_t j = 1; j < sides.cuts.size(); ++j) {
    const std::string name = sides.cut_name(j);
    text.define(name + "_0", sides.sign(0, j) ? "1.0" : "(- 1.0)");
    for (std::size_t l = 1; l <= dim && l < sides.points.size(); ++l) {
      text.unknown(fmt::format("{}_{}", name, l));
      text.require_sign(fmt::format("{}_{}", name, l), sides.sign(l, j));
    }
    for (std::size_t i = dim + 1; i < sides.points.size(); ++i) {
      std::vector<std::string> terms;
      for (std::size_t l = 0; l <= dim; ++l)
        terms.push_back(fmt::format("(* {}_{} {}_{})", sides.point_name(i), l, name, l));
      text.require_sign(smt_sum(terms), sides.sign(i, j));
    }
  }
  return text;
}

using Vectors = std::vector<std::vector<double>>;

/// The vectors of the points and cuts, by kind, from the numbers in the order in which `write`
/// asked for them.
void read(const Sides& sides, std::span<const double> values, Vectors& points, Vectors& cuts) {
  const auto dim = static_cast<std::size_t>(sides.dim);
  std::size_t next = 0;
  points.assign(sides.points.size(), std::vector<double>(dim + 1));
  cuts.assign(sides.cuts.size(), std::vector<double>(dim + 1, 1.0));
  for (std::size_t i = 0; i < sides.points.size(); ++i) {
    std::vector<double>& point = points[static_cast<std::size_t>(sides.points[i])];
    point[0] = 1;
    if (i <= dim) {
      point[0] = 0;
      point[i] = 1;
      continue;
    }
    for (std::size_t l = 1; l <= dim; ++l) point[0] -= point[l] = values[next++];
  }
  for (std::size_t j = 1; j < sides.cuts.size(); ++j) {
    std::vector<double>& cut = cuts[static_cast<std::size_t>(sides.cuts[j])];
    cut[0] = sides.sign(0, j) ? 1 : -1;
    for (std::size_t l = 1; l <= dim && l < sides.points.size(); ++l) cut[l] = values[next++];
  }
}

/// The keys. Columns are vectors v_j of R^(d+1), and u·v_j > 0 for the vector u of the row of ones.
/// In a basis where u takes the place of the unit vector at its largest entry, and after scaling,
/// v_j = (1, key).
std::vector<double> keys_of(const Vectors& columns, const std::vector<double>& ones,
                            const std::vector<std::int64_t>& kind_of) {
  std::size_t largest = 0;
  for (std::size_t l = 1; l < ones.size(); ++l)
    if (std::abs(ones[l]) > std::abs(ones[largest])) largest = l;
  std::vector<double> keys;
  for (const std::int64_t kind : kind_of) {
    const std::vector<double>& v = columns[static_cast<std::size_t>(kind)];
    double scale = 0;
    for (std::size_t l = 0; l < v.size(); ++l) scale += ones[l] * v[l];
    for (std::size_t l = 0; l < v.size(); ++l)
      if (l != largest) keys.push_back(v[l] / scale);
  }
  return keys;
}

}  // namespace

std::optional<RealProblem> free_problem(const Pattern& pattern, const SignMatrix& signs,
                                        std::int64_t dim, std::uint64_t attempt, int threads) {
  if (signs.rows * signs.cols > most_products / (dim + 1)) return std::nullopt;
  const Sides sides = make_sides(signs, dim, attempt);
  const SmtText text = write(pattern, sides);
  const auto seal_values =
      [&pattern, sides,
       threads](std::span<const double> values) -> std::optional<realisation::Sealed> {
    Vectors points;
    Vectors cuts;
    read(sides, values, points, cuts);
    const auto& columns = sides.points_are_columns ? points : cuts;
    const auto& ones = sides.points_are_columns ? cuts[0] : points[0];
    const realisation::Candidate candidate{.rows = pattern.rows,
                                           .cols = pattern.cols,
                                           .dim = sides.dim,
                                           .k = keys_of(columns, ones, sides.signs.kind_of),
                                           .made_by = {{"method", "solver"}}};
    for (const double number : candidate.k)
      if (!std::isfinite(number)) return std::nullopt;
    return realisation::seal_shortest(pattern, {.weak = true}, candidate, threads);
  };
  RealProblem problem{text.text(), text.unknowns(), {}, seal_values};
  for (auto i = static_cast<std::size_t>(dim + 1); i < sides.points.size(); ++i) {
    std::vector<std::string>& entries = problem.cases.emplace_back();
    for (std::int64_t l = 0; l <= dim; ++l)
      entries.push_back(fmt::format("{}_{}", sides.point_name(i), l));
  }
  return problem;
}

}  // namespace tamis::lab::decision
