// C ABI: information on this build, and element types.
#include <string>
#include <vector>

#include <tamis/info.h>

#include "capi/call.h"

namespace tamis::capi {
namespace {

struct TargetName {
  std::string name;
  bool runs_here;
};

/// Never destroyed, so that the strings stay valid.
const std::vector<TargetName>& target_names() {
  static const std::vector<TargetName> names = [] {
    std::vector<TargetName> result;
    for (const Target& target : targets())
      result.push_back({std::string(target.name), target.runs_here});
    return result;
  }();
  return names;
}

const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = libraries();
  return names;
}

/// Returns `get()`, or `otherwise` if memory is exhausted; tamis_last_error then gives the reason.
template <class T, class Get>
T value_or(T otherwise, Get&& get) noexcept {
  guarded([&] { otherwise = get(); });
  return otherwise;
}

template <class Names>
const auto& at(const Names& names, std::size_t index, const char* what) {
  if (index >= names.size())
    core::fail(Code::usage, "{} {} was asked for; there are {}", what, index, names.size());
  return names[index];
}

}  // namespace
}  // namespace tamis::capi

using namespace tamis::capi;  // NOLINT(google-build-using-namespace): the functions below are
                              // outside it

const char* tamis_version(void) {
  return value_or("", [] {
    static const std::string text(tamis::version());
    return text.c_str();
  });
}

size_t tamis_target_count(void) {
  return value_or(std::size_t{0}, [] { return target_names().size(); });
}

tamis_code tamis_target_at(size_t index, const char** name, int* runs_here) {
  return guarded([&] {
    const TargetName& target = at(target_names(), index, "target");
    if (name != nullptr) *name = target.name.c_str();
    if (runs_here != nullptr) *runs_here = target.runs_here ? 1 : 0;
  });
}

tamis_code tamis_target(const char** name) {
  return guarded([&] {
    required(name, "name") = nullptr;
    for (const TargetName& target : target_names())
      if (target.name == tamis::target()) *name = target.name.c_str();
  });
}

int tamis_hardware_threads(void) {
  return value_or(1, [] { return tamis::hardware_threads(); });
}

const char* tamis_parallel_runtime(void) {
  return value_or("", [] { return tamis::parallel_runtime().data(); });  // a literal
}

size_t tamis_library_count(void) {
  return value_or(std::size_t{0}, [] { return library_names().size(); });
}

tamis_code tamis_library_at(size_t index, const char** name_and_version) {
  return guarded([&] {
    required(name_and_version, "name_and_version") = at(library_names(), index, "library").c_str();
  });
}

tamis_code tamis_dtype_size(tamis_dtype dtype, int64_t* bytes) {
  return guarded([&] { required(bytes, "bytes") = tamis::size_of(dtype_of(dtype)); });
}

tamis_code tamis_dtype_name(tamis_dtype dtype, const char** name) {
  return guarded([&] {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> result;
      for (tamis_dtype i = TAMIS_F16; i <= TAMIS_BOOL; ++i)
        result.emplace_back(tamis::name_of(dtype_of(i)));
      return result;
    }();
    required(name, "name") = names[static_cast<std::size_t>(dtype_of(dtype))].c_str();
  });
}

float tamis_f16_to_float(uint16_t bits) { return tamis::to_float(tamis::f16{bits}); }
float tamis_bf16_to_float(uint16_t bits) { return tamis::to_float(tamis::bf16{bits}); }
uint16_t tamis_f16_from_float(float x) { return tamis::to_f16(x).bits; }
uint16_t tamis_bf16_from_float(float x) { return tamis::to_bf16(x).bits; }
