// Why the problem is equivalent to the question. Here d is the number of columns of q and k (`dim`)
// and H = d_hid (`hidden`). With inputs of H columns, [q_i | k_i] lies in a subspace of R^(2d) of
// dimension H. All keys may be moved by one vector, which adds a number to each row of logits. So
// the question is whether the points (q_i, k_i) can lie in an affine subspace of dimension H, that
// is, obey p = 2d − H affine relations. (An affine subspace in general position becomes a linear
// one by moving keys alone.) The conditions on logits are open, so everything may be taken in
// general position:
//   - An affine map of the keys, with its inverse transposed on the queries, makes d + 1 keys the
//     origin and the unit vectors.
//   - The relations can be solved for the last p entries of q_i, which are then an affine
//     function of k_i plus a linear one of the other entries. An affine function on R^d is given
//     by its values at the d + 1 fixed keys, where it is free, so these d + 1 queries are free.
//     For every other i,
//       q_i = Σ λ_l·q_l + s·(v_i − Σ λ_l·v_l)   in the last p entries,
//     where λ are the barycentric coordinates of k_i, v the first d − p entries of queries and s is
//     a p × (d − p) matrix.
#include <cmath>

#include "lab/decide/solvers/real_problem.h"
#include "lab/decide/solvers/smt_text.h"
#include "lab/numbers/random.h"

namespace tamis::lab::decision {
namespace {

constexpr Conditions weak_conditions{.weak = true};

/// The sizes, and the order of the elements.
struct Shape {
  std::int64_t n, dim, hidden;
  std::vector<std::int64_t> order;  ///< the first dim + 1 elements have fixed keys

  /// p, the number of entries of a query that the relations determine.
  [[nodiscard]] std::int64_t bound() const { return std::max<std::int64_t>(0, 2 * dim - hidden); }
  [[nodiscard]] std::int64_t loose() const { return dim - bound(); }
  [[nodiscard]] std::int64_t vertices() const { return std::min(n, dim + 1); }
};

const char* const meaning =
    "; Numbers: k_j_c is entry c of key j, q_i_c of query i. Some keys are fixed and some queries "
    "follow from others:\n"
    "; inputs of so many columns mean affine relations between a query and the key of the same "
    "number (s_e_c is a\n"
    "; coefficient of one, w_i the weight of the origin in key i), and a change of basis fixes the "
    "keys of a simplex.\n";

/// Writes the keys. For an element that is no vertex, its barycentric weights are w for the origin
/// and the entries of its key for the unit vectors.
void write_keys(const Shape& shape, SmtText& text) {
  for (std::int64_t place = 0; place < shape.n; ++place) {
    const std::int64_t j = shape.order[static_cast<std::size_t>(place)];
    std::string rest;
    for (std::int64_t c = 0; c < shape.dim; ++c) {
      const std::string name = fmt::format("k_{}_{}", j, c);
      if (place < shape.vertices())
        text.define(name, place == c + 1 ? "1.0" : "0.0");
      else
        text.unknown(name);
      rest += " " + name;
    }
    if (place >= shape.vertices())
      text.define(fmt::format("w_{}", j), fmt::format("(- 1.0{})", rest));
  }
}

/// The terms of Σ λ_l·q_l in one entry, by the names of the vertices' queries.
std::vector<std::string> mixture(const Shape& shape, std::int64_t element, std::int64_t entry) {
  std::vector<std::string> terms = {
      fmt::format("(* w_{} q_{}_{})", element, shape.order[0], entry)};
  for (std::int64_t l = 0; l < shape.dim; ++l)
    terms.push_back(fmt::format("(* k_{}_{} q_{}_{})", element, l,
                                shape.order[static_cast<std::size_t>(l + 1)], entry));
  return terms;
}

void write_queries(const Shape& shape, SmtText& text) {
  const bool related = shape.n > shape.vertices() && shape.bound() > 0;
  for (std::int64_t e = shape.loose(); related && e < shape.dim; ++e)
    for (std::int64_t c = 0; c < shape.loose(); ++c) text.unknown(fmt::format("s_{}_{}", e, c));
  for (std::int64_t place = 0; place < shape.n; ++place) {
    const std::int64_t i = shape.order[static_cast<std::size_t>(place)];
    const bool vertex = place < shape.vertices();
    for (std::int64_t c = 0; c < (vertex ? shape.dim : shape.loose()); ++c)
      text.unknown(fmt::format("q_{}_{}", i, c));
    if (vertex || shape.bound() == 0) continue;
    for (std::int64_t e = shape.loose(); e < shape.dim; ++e) {
      std::vector<std::string> terms = mixture(shape, i, e);
      for (std::int64_t c = 0; c < shape.loose(); ++c)
        terms.push_back(
            fmt::format("(* s_{}_{} (- q_{}_{} {}))", e, c, i, c, smt_sum(mixture(shape, i, c))));
      text.define(fmt::format("q_{}_{}", i, e), smt_sum(terms));
    }
  }
}

void write_rows(const Pattern& pattern, const Shape& shape, SmtText& text) {
  for (std::int64_t i = 0; i < shape.n; ++i) {
    std::vector<bool> one(static_cast<std::size_t>(shape.n));
    for (const std::int64_t column : pattern.columns_of(i))
      one[static_cast<std::size_t>(column)] = true;
    for (const std::int64_t j : pattern.columns_of(i))
      for (std::int64_t zero = 0; zero < shape.n; ++zero) {
        if (one[static_cast<std::size_t>(zero)]) continue;
        std::vector<std::string> terms;
        for (std::int64_t c = 0; c < shape.dim; ++c)
          terms.push_back(fmt::format("(* q_{0}_{1} (- k_{2}_{1} k_{3}_{1}))", i, c, j, zero));
        text.require_sign(smt_sum(terms), true);
      }
  }
}

using Matrix = std::vector<std::vector<double>>;

Matrix zeros(std::int64_t rows, std::int64_t cols) {
  return Matrix(static_cast<std::size_t>(rows),
                std::vector<double>(static_cast<std::size_t>(cols)));
}

/// The numbers of a model, as x = (key, v) and q = (v, slope·key + offset + s·v).
struct Relations {
  Matrix keys, v;              // n × dim, n × (dim − p)
  Matrix slope, s;             // p × dim, p × (dim − p)
  std::vector<double> offset;  // p
};

Relations read(const Shape& shape, std::span<const double> values) {
  const std::int64_t p = shape.bound();
  Relations r{zeros(shape.n, shape.dim), zeros(shape.n, shape.loose()), zeros(p, shape.dim),
              zeros(p, shape.loose()), std::vector<double>(static_cast<std::size_t>(p))};
  std::size_t next = 0;
  for (std::int64_t place = 0; place < shape.n; ++place)
    for (std::int64_t c = 0; c < shape.dim; ++c)
      r.keys[static_cast<std::size_t>(shape.order[static_cast<std::size_t>(place)])]
            [static_cast<std::size_t>(c)] =
          place < shape.vertices() ? (place == c + 1 ? 1.0 : 0.0) : values[next++];
  if (shape.n > shape.vertices())
    for (std::vector<double>& row : r.s)
      for (double& number : row) number = values[next++];
  for (std::int64_t place = 0; place < shape.n; ++place) {
    std::vector<double>& v =
        r.v[static_cast<std::size_t>(shape.order[static_cast<std::size_t>(place)])];
    for (double& number : v) number = values[next++];
    for (std::size_t e = 0; place < shape.vertices() && e < r.offset.size(); ++e) {
      double rest = values[next++];  // the query's entry without the part from v
      for (std::size_t c = 0; c < v.size(); ++c) rest -= r.s[e][c] * v[c];
      if (place == 0)
        r.offset[e] = rest;
      else
        r.slope[e][static_cast<std::size_t>(place - 1)] = rest - r.offset[e];
    }
  }
  return r;
}

/// A vector t with slope·t = −offset, zero in its free entries; nothing if the rows of the slope
/// are dependent.
std::optional<std::vector<double>> origin_of(Matrix slope, std::vector<double> offset,
                                             std::int64_t dim) {
  std::vector<double> t(static_cast<std::size_t>(dim));
  std::vector<std::size_t> pivot(slope.size());
  for (std::size_t row = 0; row < slope.size(); ++row) {
    for (std::size_t c = 0; c < t.size(); ++c)
      if (std::abs(slope[row][c]) > std::abs(slope[row][pivot[row]])) pivot[row] = c;
    if (slope[row][pivot[row]] == 0) return std::nullopt;
    for (std::size_t other = 0; other < slope.size(); ++other) {
      const double factor = slope[other][pivot[row]] / slope[row][pivot[row]];
      if (other == row || factor == 0) continue;
      for (std::size_t c = 0; c < t.size(); ++c) slope[other][c] -= factor * slope[row][c];
      offset[other] -= factor * offset[row];
    }
  }
  for (std::size_t row = 0; row < slope.size(); ++row)
    t[pivot[row]] = -offset[row] / slope[row][pivot[row]];
  return t;
}

std::optional<Witness> witness_of(const Shape& shape, const Relations& r, DType dtype) {
  const auto t = origin_of(r.slope, r.offset, shape.dim);
  if (!t) return std::nullopt;
  const std::int64_t d = shape.dim;
  const std::int64_t inputs = d + shape.loose();
  std::vector<double> x;
  std::vector<double> w_q(static_cast<std::size_t>(shape.hidden * d));
  std::vector<double> w_k(w_q);
  for (std::size_t i = 0; i < r.keys.size(); ++i) {
    for (std::size_t c = 0; c < t->size(); ++c) x.push_back(r.keys[i][c] - (*t)[c]);
    x.insert(x.end(), r.v[i].begin(), r.v[i].end());
    x.insert(x.end(), static_cast<std::size_t>(shape.hidden - inputs), 0.0);
  }
  const auto at = [d](std::int64_t row, std::int64_t col) {
    return static_cast<std::size_t>(row * d + col);
  };
  for (std::int64_t c = 0; c < d; ++c) w_k[at(c, c)] = 1;
  for (std::int64_t c = 0; c < shape.loose(); ++c) w_q[at(d + c, c)] = 1;
  for (std::size_t e = 0; e < r.slope.size(); ++e) {
    const std::int64_t entry = shape.loose() + static_cast<std::int64_t>(e);
    for (std::int64_t c = 0; c < d; ++c)
      w_q[at(c, entry)] = r.slope[e][static_cast<std::size_t>(c)];
    for (std::int64_t c = 0; c < shape.loose(); ++c)
      w_q[at(d + c, entry)] = r.s[e][static_cast<std::size_t>(c)];
  }
  for (const double number : x)
    if (!std::isfinite(dtype == DType::f32 ? static_cast<double>(static_cast<float>(number))
                                           : number))
      return std::nullopt;
  Witness witness;
  witness.x = realisation::tensor_of("x", shape.n, shape.hidden, x, dtype);
  witness.w_q = realisation::tensor_of("w_q", shape.hidden, d, w_q, dtype);
  witness.w_k = realisation::tensor_of("w_k", shape.hidden, d, w_k, dtype);
  witness.made_by = {{"method", "solver"}};
  return witness;
}

/// Makes a witness of the numbers of a model. Solvers prefer zeros, which are not in general
/// position, so a little noise on the slope is tried, less and less of it.
std::optional<realisation::Sealed> seal_shared(const Pattern& pattern, const Shape& shape,
                                               std::span<const double> values, int threads) {
  const Relations model = read(shape, values);
  for (const double size : {0.0, 0x1p-4, 0x1p-8, 0x1p-12, 0x1p-16, 0x1p-20, 0x1p-24, 0x1p-28}) {
    Relations moved = model;
    std::uint32_t draw = 0;
    const numbers::Stream noise(0, numbers::Purpose::order, 0);
    for (std::vector<double>& row : moved.slope)
      for (double& number : row) number += size * noise.normal(draw++);
    for (const DType dtype : {DType::f32, DType::f64}) {
      auto witness = witness_of(shape, moved, dtype);
      if (!witness) continue;
      auto sealed =
          realisation::seal_witness(pattern, std::move(*witness), weak_conditions, threads);
      if (sealed) return sealed;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RealProblem> shared_problem(const Pattern& pattern, std::int64_t dim,
                                          std::int64_t hidden, std::uint64_t attempt, int threads) {
  const std::int64_t n = pattern.rows;
  std::int64_t pairs = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    const auto ones = std::ssize(pattern.columns_of(row));
    pairs += ones * (n - ones);
  }
  if (pairs > most_products / dim) return std::nullopt;
  const Shape shape{n, dim, hidden, attempt_order(n, attempt)};
  SmtText text(problem_comment(pattern, dim, hidden) + meaning);
  write_keys(shape, text);
  write_queries(shape, text);
  write_rows(pattern, shape, text);
  const auto seal_values = [&pattern, shape, threads](std::span<const double> values) {
    return seal_shared(pattern, shape, values, threads);
  };
  RealProblem problem{text.text(), text.unknowns(), {}, seal_values};
  for (std::int64_t place = shape.vertices(); place < n; ++place) {
    const std::int64_t i = shape.order[static_cast<std::size_t>(place)];
    std::vector<std::string>& weights = problem.cases.emplace_back(1, fmt::format("w_{}", i));
    for (std::int64_t c = 0; c < dim; ++c) weights.push_back(fmt::format("k_{}_{}", i, c));
  }
  return problem;
}

}  // namespace tamis::lab::decision
