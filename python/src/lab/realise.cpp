// Witnesses for patterns, the bounds that the theory sets beside them, and the frontier.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include <tamis/lab/bounds.h>
#include <tamis/lab/realise.h>

#include "lab.h"
#include "progress.h"
#include "values.h"
#include "verify.h"

namespace tamis::python {
namespace {

Dicts attempts_list(const std::vector<lab::Attempt>& attempts) {
  Dicts list;
  for (const lab::Attempt& attempt : attempts) {
    nb::dict dict;
    dict["method"] = lab::name_of(attempt.method);
    dict["dim"] = attempt.dim;
    dict["verified"] = attempt.verified;
    dict["norm_product"] = attempt.norm_product;
    dict["max_logit"] = attempt.max_logit;
    dict["seconds"] = attempt.seconds;
    dict["why"] = text(attempt.why);
    list.append(dict);
  }
  return list;
}

Dict realise(const lab::Pattern& pattern, const std::string& method,
             const ConditionsTuple& conditions, std::optional<std::int64_t> dim,
             std::optional<double> max_norm, std::optional<std::int64_t> hidden,
             std::int64_t redraws, std::int64_t steps, std::uint64_t seed, int threads,
             nb::object progress) {
  const lab::RealiseOptions options{.method = lab::method_named(method),
                                    .conditions = conditions_of(conditions),
                                    .dim = dim,
                                    .max_norm = max_norm,
                                    .hidden = hidden,
                                    .redraws = redraws,
                                    .steps = steps,
                                    .seed = seed,
                                    .threads = threads};
  lab::Realisation result = watched(std::move(progress), [&](const ProgressCallback& callback) {
    return lab::realise(pattern, options, callback);
  });
  nb::dict dict;
  dict["verification"] = verification_dict(result.verification);
  dict["method"] = lab::name_of(result.method);
  dict["dim"] = result.dim;
  dict["redraws"] = result.redraws;
  dict["seconds"] = result.seconds;
  dict["attempts"] = attempts_list(result.attempts);
  dict["witness"] = witness_or_none(std::move(result.witness));
  return dict;
}

/// A bound on the dimension as columns (m = d/2), None where there is none or it is vacuous.
nb::object columns_of(const std::optional<lab::DimensionBound>& bound) {
  return !bound || bound->vacuous ? nb::none() : nb::cast(bound->d / 2);
}

/// What is known of every witness of the pattern. For weak conditions there is no `paper_norm`.
Dict theory(const lab::Pattern& pattern, const ConditionsTuple& given) {
  const lab::Conditions conditions = conditions_of(given);
  nb::dict dict;
  dict["paper_norm"] =
      conditions.weak ? nb::none() : nb::cast(lab::paper_norm(pattern, conditions));
  dict["norm_lower_bound"] = lab::norm_lower_bound(pattern, conditions);
  dict["bound_6"] = columns_of(lab::paper_bound(pattern, conditions));
  dict["bound_sharper"] = columns_of(lab::sharper_bound(pattern, conditions));
  return dict;
}

Dicts frontier(const lab::Pattern& pattern, const ConditionsTuple& conditions,
               std::vector<std::int64_t> dims, std::int64_t steps, std::uint64_t seed, int threads,
               nb::object progress) {
  const lab::FrontierOptions options{.conditions = conditions_of(conditions),
                                     .dims = std::move(dims),
                                     .steps = steps,
                                     .seed = seed,
                                     .threads = threads};
  return attempts_list(watched(std::move(progress), [&](const ProgressCallback& callback) {
                         return lab::frontier(pattern, options, callback);
                       }).points);
}

}  // namespace

void declare_realise(nb::module_& m) {
  using nb::arg;
  m.def("realise", &realise, arg("pattern"), arg("method"), arg("conditions"), arg("dim").none(),
        arg("max_norm").none(), arg("hidden").none(), arg("redraws"), arg("steps"), arg("seed"),
        arg("threads"), arg("progress").none());
  m.def("theory", &theory, arg("pattern"), arg("conditions"));
  m.def("frontier", &frontier, arg("pattern"), arg("conditions"), arg("dims"), arg("steps"),
        arg("seed"), arg("threads"), arg("progress").none());
}

}  // namespace tamis::python
