// Patterns: made from compressed rows, read from files, generated; their entries and figures.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include <tamis/lab/generate.h>
#include <tamis/lab/pattern.h>

#include "lab.h"
#include "progress.h"
#include "values.h"

namespace tamis::python {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copy_of(const Vector<T>& array) {
  return {array.data(), array.data() + array.size()};
}

lab::Pattern make(std::int64_t rows, std::int64_t cols, const Vector<std::int64_t>& row_start,
                  const Vector<std::int64_t>& column, const Vector<double>& value,
                  std::vector<std::string> row_names, std::vector<std::string> column_names) {
  lab::Pattern pattern;
  pattern.rows = rows;
  pattern.cols = cols;
  pattern.row_start = copy_of(row_start);
  pattern.column = copy_of(column);
  pattern.value = copy_of(value);
  pattern.row_names = std::move(row_names);
  pattern.column_names = std::move(column_names);
  (void)lab::figures_of(pattern);  // throws if a rule is broken
  return pattern;
}

lab::Pattern read(const nb::bytes& path, bool drop_empty, nb::object progress) {
  const std::string file = path_of(path);
  return watched(std::move(progress), [&](const ProgressCallback& callback) {
    return lab::read_pattern(file, drop_empty ? lab::EmptyTopics::drop : lab::EmptyTopics::refuse,
                             callback);
  });
}

/// A copy of a vector of the pattern as an array.
template <class T>
auto entries(std::vector<T> lab::Pattern::*member) {
  return [member](const lab::Pattern& pattern) { return array_of(std::vector(pattern.*member)); };
}

auto names(std::vector<std::string> lab::Pattern::*member) {
  return [member](const lab::Pattern& pattern) -> Texts { return texts(pattern.*member); };
}

/// (k_rows, k_columns, gamma, causal).
nb::typed<nb::tuple, int, int, double, bool> figures(const lab::Pattern& pattern) {
  const lab::PatternFigures figures = lab::figures_of(pattern);
  return nb::make_tuple(figures.most_per_row, figures.most_per_column, figures.gamma,
                        figures.causal);
}

void write(const nb::bytes& path, const lab::Pattern& pattern) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  lab::write_matrix_market(file, pattern);
}

}  // namespace

void declare_pattern(nb::module_& m) {
  using nb::arg;
  nb::class_<lab::Pattern>(m, "Pattern")
      .def_ro("rows", &lab::Pattern::rows)
      .def_ro("columns", &lab::Pattern::cols)
      .def_prop_ro("nonzeros", &lab::Pattern::nonzeros)
      .def_prop_ro("row_start", entries(&lab::Pattern::row_start))
      .def_prop_ro("column", entries(&lab::Pattern::column))
      .def_prop_ro("value", entries(&lab::Pattern::value))
      .def_prop_ro("row_names", names(&lab::Pattern::row_names))
      .def_prop_ro("column_names", names(&lab::Pattern::column_names))
      .def_prop_ro("dropped", names(&lab::Pattern::dropped))
      .def("figures", &figures);
  m.def("make_pattern", &make, arg("rows"), arg("columns"), arg("row_start"), arg("column"),
        arg("value"), arg("row_names"), arg("column_names"));
  m.def("read_pattern", &read, arg("path"), arg("drop_empty"), arg("progress").none());
  m.def("write_pattern", &write, arg("path"), arg("pattern"));

  using Released = nb::call_guard<nb::gil_scoped_release>;
  m.def("permutations_pattern", &lab::permutations_pattern, arg("n"), arg("k"), arg("gamma"),
        arg("seed"), Released());
  m.def("causal_pattern", &lab::causal_pattern, arg("n"), arg("k"), arg("gamma"), arg("seed"),
        Released());
  m.def("banded_pattern", &lab::banded_pattern, arg("n"), arg("reach"), arg("causal"), Released());
  m.def("block_pattern", &lab::block_pattern, arg("n"), arg("size"), arg("causal"), Released());
  m.def("pairs_pattern", &lab::pairs_pattern, arg("n"), Released());
  m.def("top_keys_pattern", &lab::top_keys_pattern, arg("trace"), arg("layer"), arg("head"),
        arg("k"), Released());
}

}  // namespace tamis::python
