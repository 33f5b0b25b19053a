// Profiles: measured from a trace, read, written and compared.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include <tamis/lab/profile.h>

#include "lab.h"
#include "progress.h"
#include "values.h"

namespace tamis::python {
namespace {

/// The figures of a layer, in the shapes of the file that `tamis profile --rows` writes.
Dict rows_dict(const lab::TraceLayer& layer, lab::RowFigures rows) {
  const auto heads = static_cast<std::size_t>(layer.shape.query_heads);
  const auto queries = static_cast<std::size_t>(layer.shape.queries);
  const std::size_t eps = rows.eps.size();
  const std::size_t grid = rows.grid.size();
  const std::size_t windows = rows.windows.size();
  std::vector<double> support = rows.entropy;
  for (double& x : support) x = std::exp(x);
  nb::dict dict;
  dict["n"] = array_of(std::move(rows.n), {heads, queries});
  dict["k_eps"] = array_of(std::move(rows.k_eps), {heads, queries, eps});
  dict["w_eps"] = array_of(std::move(rows.w_eps), {heads, queries, eps});
  dict["null"] = array_of(std::move(rows.null), {heads, queries, eps});
  dict["curve"] = array_of(std::move(rows.curve), {heads, queries, grid});
  dict["grid"] = array_of(std::move(rows.grid));
  dict["top1"] = array_of(std::move(rows.top1), {heads, queries});
  dict["entropy"] = array_of(std::move(rows.entropy), {heads, queries});
  dict["effective_support"] = array_of(std::move(support), {heads, queries});
  dict["sink"] = array_of(std::move(rows.sink), {heads, queries});
  dict["window"] = array_of(std::move(rows.window), {heads, queries, windows});
  dict["mean"] = array_of(std::move(rows.mean), {heads, queries});
  dict["sigma"] = array_of(std::move(rows.sigma), {heads, queries});
  return dict;
}

/// (profile, figures of every row by layer). The figures are empty unless `keep_rows`.
nb::typed<nb::tuple, lab::Profile, nb::typed<nb::dict, int, Dict>> profile(
    const lab::Trace& trace, std::vector<double> eps, double delta, std::int64_t sinks,
    std::vector<std::int64_t> windows, std::vector<std::int64_t> layers, std::int64_t bins,
    double confidence, double significance, double material, std::int64_t resamples,
    std::uint64_t seed, int threads, bool keep_rows, nb::object progress) {
  const lab::ProfileOptions options{.rows = {std::move(eps), sinks, std::move(windows)},
                                    .delta = delta,
                                    .law = {.confidence = confidence,
                                            .significance = significance,
                                            .material = material,
                                            .resamples = resamples,
                                            .seed = seed},
                                    .bins = bins,
                                    .layers = std::move(layers)};
  std::vector<std::pair<lab::TraceLayer, lab::RowFigures>> kept;
  lab::RowsCallback keep;
  if (keep_rows)
    keep = [&kept](const lab::TraceLayer& layer, const lab::RowFigures& rows) {
      kept.emplace_back(layer, rows);
    };
  lab::Profile result = watched(std::move(progress), [&](const ProgressCallback& callback) {
    Workspace workspace(threads);
    return lab::profile(trace, options, workspace, callback, keep);
  });
  nb::dict rows;
  for (auto& [layer, figures] : kept)
    rows[nb::int_(layer.layer)] = rows_dict(layer, std::move(figures));
  return nb::make_tuple(nb::cast(std::move(result)), rows);
}

Dicts compare(const lab::Profile& a, const lab::Profile& b) {
  Dicts list;
  for (const lab::HeadDifference& difference : lab::compare_profiles(a, b)) {
    const lab::KEpsProfile& of_a = difference.a->by_eps.front();
    const lab::KEpsProfile& of_b = difference.b->by_eps.front();
    nb::dict dict;
    dict["layer"] = difference.a->layer;
    dict["head"] = difference.a->head;
    dict["k_eps"] = nb::make_tuple(of_a.k_eps.median, of_b.k_eps.median);
    dict["k_ratio"] = difference.k_ratio;
    dict["C"] = nb::make_tuple(of_a.law.C, of_b.law.C);
    dict["exponents_apart"] = difference.exponents_apart;
    dict["law"] =
        nb::make_tuple(text(lab::name_of(of_a.law.law)), text(lab::name_of(of_b.law.law)));
    dict["law_differs"] = difference.law_differs;
    list.append(dict);
  }
  return list;
}

lab::Profile read(const nb::bytes& path) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  return lab::read_profile(file);
}

void write(const nb::bytes& path, const lab::Profile& profile) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  lab::write_profile(file, profile);
}

}  // namespace

void declare_profile(nb::module_& m) {
  using nb::arg;
  nb::class_<lab::Profile>(m, "Profile").def("text", [](const lab::Profile& profile) {
    return text(lab::profile_text(profile));
  });
  m.def("profile", &profile, arg("trace"), arg("eps"), arg("delta"), arg("sinks"), arg("windows"),
        arg("layers"), arg("bins"), arg("confidence"), arg("significance"), arg("material"),
        arg("resamples"), arg("seed"), arg("threads"), arg("keep_rows"), arg("progress").none());
  m.def("compare_profiles", &compare, arg("a"), arg("b"));
  m.def("read_profile", &read, arg("path"));
  m.def("write_profile", &write, arg("path"), arg("profile"));
}

}  // namespace tamis::python
