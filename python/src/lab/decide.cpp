// Verdicts on dimensions, and the refutations behind a no.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <variant>

#include <tamis/lab/decide.h>
#include <tamis/lab/refutation.h>

#include "lab.h"
#include "progress.h"
#include "values.h"
#include "verify.h"

namespace tamis::python {
namespace {

Dicts trials_list(const std::vector<lab::Trial>& trials) {
  Dicts list;
  for (const lab::Trial& trial : trials) {
    nb::dict dict;
    dict["what"] = text(trial.what);
    dict["times"] = trial.times;
    dict["dim"] = trial.dim > 0 ? nb::cast(trial.dim) : nb::none();
    dict["outcome"] = text(trial.outcome);
    dict["seconds"] = trial.seconds;
    list.append(dict);
  }
  return list;
}

Dict decide(const lab::Pattern& pattern, std::optional<std::int64_t> dim,
            std::optional<std::int64_t> hidden, double time_limit, bool solvers, bool witness,
            std::uint64_t seed, int threads, nb::object progress) {
  const lab::DecideOptions options{.dim = dim,
                                   .hidden = hidden,
                                   .time_limit = time_limit,
                                   .solvers = solvers,
                                   .witness = witness,
                                   .seed = seed,
                                   .threads = threads};
  lab::Decision result = watched(std::move(progress), [&](const ProgressCallback& callback) {
    return lab::decide(pattern, options, callback);
  });
  nb::dict dict;
  dict["verdict"] = lab::name_of(result.verdict);
  dict["lower"] = result.lower;
  dict["upper"] = or_none(result.upper);
  dict["refutation"] = result.refutation ? nb::cast(std::move(*result.refutation)) : nb::none();
  dict["verification"] = verification_dict(result.verification);
  dict["method"] = text(result.method);
  dict["trials"] = trials_list(result.trials);
  dict["seconds"] = result.seconds;
  dict["interrupted"] = result.interrupted;
  dict["witness"] = witness_or_none(std::move(result.witness));
  return dict;
}

lab::Refutation read(const nb::bytes& path) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  return lab::read_refutation(file);
}

void write(const nb::bytes& path, const lab::Refutation& refutation) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  lab::write_refutation(file, refutation);
}

/// (holds, why).
nb::typed<nb::tuple, bool, nb::str> check(const lab::Pattern& pattern,
                                          const lab::Refutation& refutation) {
  const lab::RefutationCheck check = [&] {
    nb::gil_scoped_release release;
    return lab::check_refutation(pattern, refutation);
  }();
  return nb::make_tuple(check.holds, text(check.why));
}

}  // namespace

void declare_decide(nb::module_& m) {
  using nb::arg;
  nb::class_<lab::Refutation>(m, "Refutation")
      .def_ro("dim", &lab::Refutation::dim)
      .def_ro("hidden", &lab::Refutation::hidden)
      .def_prop_ro(
          "grounds",
          [](const lab::Refutation& refutation) { return text(lab::name_of(refutation.grounds)); })
      .def_prop_ro("proved", &lab::Refutation::proved)
      .def("text", [](const lab::Refutation& refutation) {
        return text(lab::refutation_text(refutation));
      });
  m.def("decide", &decide, arg("pattern"), arg("dim").none(), arg("hidden").none(),
        arg("time_limit"), arg("solvers"), arg("witness"), arg("seed"), arg("threads"),
        arg("progress").none());
  m.def("read_refutation", &read, arg("path"));
  m.def("write_refutation", &write, arg("path"), arg("refutation"));
  m.def("check_refutation", &check, arg("pattern"), arg("refutation"));
}

}  // namespace tamis::python
