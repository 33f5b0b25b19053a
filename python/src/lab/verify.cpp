// Witnesses and their verification.
#include "verify.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "lab.h"
#include "progress.h"
#include "values.h"

namespace tamis::python {
namespace {

/// The tensors of a witness with their names in files.
constexpr std::pair<const char*, lab::Tensor lab::Witness::*> tensors[] = {
    {"q", &lab::Witness::q},
    {"k", &lab::Witness::k},
    {"x", &lab::Witness::x},
    {"w_q", &lab::Witness::w_q},
    {"w_k", &lab::Witness::w_k}};

using TensorParts = std::tuple<std::string, std::vector<std::int64_t>, Bytes>;

lab::Witness make(const std::map<std::string, TensorParts>& given,
                  const ConditionsTuple& conditions, lab::Metadata made_by) {
  lab::Witness witness;
  for (const auto& [name, member] : tensors) {
    const auto found = given.find(name);
    if (found == given.end()) continue;
    const auto& [dtype, shape, bytes] = found->second;
    witness.*member = tensor_copy(tensor_ref(name, dtype, shape, bytes));
  }
  witness.made_for = conditions_of(conditions);
  witness.made_by = std::move(made_by);
  return witness;
}

lab::Witness read(const nb::bytes& path) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  return lab::read_witness(file);
}

void write(const nb::bytes& path, const lab::Witness& witness) {
  const std::string file = path_of(path);
  nb::gil_scoped_release release;
  lab::write_witness(file, witness);
}

/// Copies of the tensors that the witness holds, by name.
nb::typed<nb::dict, nb::str, TensorTuple> tensors_of(const lab::Witness& witness) {
  nb::dict dict;
  for (const auto& [name, member] : tensors) {
    const lab::Tensor& tensor = witness.*member;
    if (!tensor.bytes().empty())
      dict[name] = tensor_tuple(tensor_copy({tensor.info(), tensor.bytes().data()}));
  }
  return dict;
}

ConditionsTuple made_for(const lab::Witness& witness) {
  const lab::Conditions& c = witness.made_for;
  return {c.eps1, c.eps2, c.causal, c.weak};
}

Dict verify(const lab::Pattern& pattern, const lab::Witness& witness,
            const ConditionsTuple& conditions, int threads, nb::object progress) {
  return verification_dict(watched(std::move(progress), [&](const ProgressCallback& callback) {
    return lab::verify(pattern, witness, conditions_of(conditions), threads, callback);
  }));
}

}  // namespace

lab::Conditions conditions_of(const ConditionsTuple& conditions) {
  const auto& [eps1, eps2, causal, weak] = conditions;
  return {.eps1 = eps1, .eps2 = eps2, .causal = causal, .weak = weak};
}

Dict verification_dict(const lab::Verification& verification) {
  nb::dict dict;
  for (const lab::Arithmetic a :
       {lab::Arithmetic::f32, lab::Arithmetic::f64, lab::Arithmetic::exact}) {
    const lab::Checked& checked = verification[a];
    nb::dict in;
    in["holds"] = checked.holds;
    in["margin"] = checked.margin;
    in["worst_row"] = checked.worst_row < 0 ? nb::none() : nb::cast(checked.worst_row);
    in["failing_rows"] = checked.failing_rows;
    dict[lab::name_of(a)] = in;
  }
  dict["norm_product"] = verification.norm_product;
  dict["max_logit"] = verification.max_logit;
  return dict;
}

nb::object witness_or_none(std::optional<lab::Witness> witness) {
  return witness ? nb::cast(std::move(*witness)) : nb::none();
}

void declare_witness(nb::module_& m) {
  using nb::arg;
  nb::class_<lab::Witness>(m, "Witness")
      .def_prop_ro("tensors", &tensors_of)
      .def_prop_ro("made_for", &made_for)
      .def_prop_ro("made_by",
                   [](const lab::Witness& witness) { return metadata_dict(witness.made_by); });
  m.def("make_witness", &make, arg("tensors"), arg("made_for"), arg("made_by"));
  m.def("read_witness", &read, arg("path"));
  m.def("write_witness", &write, arg("path"), arg("witness"));
  m.def("verify", &verify, arg("pattern"), arg("witness"), arg("conditions"), arg("threads"),
        arg("progress").none());
}

}  // namespace tamis::python
