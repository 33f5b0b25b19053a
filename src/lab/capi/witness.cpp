// C ABI: witnesses, from arrays and from files.
#include "lab/capi/witness.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lab/capi/tensor.h"
#include "lab/verify/witness_checks.h"

namespace tamis::lab::capi {
namespace {

constexpr std::size_t conditions_size = 32;  // of the first published version
static_assert(sizeof(tamis_conditions) == conditions_size &&
              TAMIS_ENDS_WITH(tamis_conditions, weak));

struct Named {
  const char* name;
  Tensor Witness::*tensor;
};
constexpr std::array<Named, 5> parts{{{"q", &Witness::q},
                                      {"k", &Witness::k},
                                      {"x", &Witness::x},
                                      {"w_q", &Witness::w_q},
                                      {"w_k", &Witness::w_k}}};

Tensor Witness::*part_named(std::string_view name) {
  for (const Named& part : parts)
    if (name == part.name) return part.tensor;
  core::fail(Code::usage, "a witness has no array \"{}\"; there are q, k, x, w_q and w_k", name);
}

Tensor copy_of(const tamis_array& array, const char* name) {
  const TensorRef ref = from_c(array, name);
  const auto bytes =
      tamis::capi::required(static_cast<const std::byte*>(ref.data), ref.info.bytes(), name);
  Tensor tensor(ref.info);
  std::ranges::copy(bytes, tensor.bytes().begin());
  return tensor;
}

Witness witness_of(const tamis_array* arrays, std::size_t count, const tamis_conditions* made_for) {
  Witness witness;
  witness.made_for = conditions_of(made_for);
  check_conditions(witness.made_for);
  if (count > parts.size())
    core::fail(Code::usage, "count is {}; a witness has at most {} arrays", count, parts.size());
  for (const tamis_array& array :
       tamis::capi::required(arrays, static_cast<std::int64_t>(count), "arrays")) {
    const char* name = &tamis::capi::required(array.name, "the name of an array");
    Tensor& tensor = witness.*part_named(name);
    if (!tensor.info().name.empty())
      core::fail(Code::usage, "the array \"{}\" is given twice", name);
    tensor = copy_of(array, name);
  }
  verification::check_witness("the witness", witness);
  return witness;
}

}  // namespace

Conditions conditions_of(const tamis_conditions* from) {
  if (from == nullptr) return {};
  const tamis_conditions c = tamis::capi::read_struct(from, conditions_size, "tamis_conditions");
  Conditions conditions;
  conditions.causal = tamis::capi::flag_of(c.causal, "causal");
  conditions.weak = tamis::capi::flag_of(c.weak, "weak");
  if (!conditions.weak) {
    conditions.eps1 = c.eps1;
    conditions.eps2 = c.eps2;
  }
  return conditions;
}

}  // namespace tamis::lab::capi

using namespace tamis::capi;       // NOLINT(google-build-using-namespace): for the functions below
using namespace tamis::lab::capi;  // NOLINT(google-build-using-namespace)

tamis_code tamis_witness_create(const tamis_array* arrays, size_t count,
                                const tamis_conditions* made_for, tamis_witness** out) {
  return make(out, [&] {
    return std::make_unique<tamis_witness>(tamis_witness{witness_of(arrays, count, made_for)});
  });
}

tamis_code tamis_witness_read(const char* path, tamis_witness** out) {
  return make(out, [&] {
    return std::make_unique<tamis_witness>(
        tamis_witness{tamis::lab::read_witness(&required(path, "path"))});
  });
}

void tamis_witness_free(tamis_witness* witness) { delete witness; }

tamis_code tamis_witness_write(const char* path, const tamis_witness* witness) {
  return guarded([&] {
    tamis::lab::write_witness(&required(path, "path"), required(witness, "witness").witness);
  });
}

tamis_code tamis_witness_get(const tamis_witness* witness, const char* name, tamis_array* out) {
  return guarded([&] {
    const tamis::lab::Witness& w = required(witness, "witness").witness;
    const tamis::lab::Tensor& tensor = w.*part_named(&required(name, "name"));
    required(out, "out") = to_c(tensor.info(), tensor.bytes().data());
  });
}

tamis_code tamis_witness_conditions(const tamis_witness* witness, tamis_conditions* out) {
  return guarded([&] {
    const tamis::lab::Conditions& c = required(witness, "witness").witness.made_for;
    write_struct(out, {sizeof *out, c.eps1, c.eps2, c.causal ? 1 : 0, c.weak ? 1 : 0},
                 conditions_size, "tamis_conditions");
  });
}

tamis_code tamis_witness_metadata(const tamis_witness* witness, const char* key,
                                  const char** value) {
  return guarded([&] {
    required(value, "value") = find_metadata(required(witness, "witness").witness.made_by, key);
  });
}
