// Shared by the tests of the C ABI.
#pragma once

#include <gtest/gtest.h>
#include <tamis/lab/tamis_lab.h>

#include <cstdint>
#include <limits>
#include <string>

namespace tamis_c {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// A handle that is freed by its destructor.
template <class T, void (*free_handle)(T*)>
struct Owned {
  T* handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { free_handle(handle); }
  T** operator&() { return &handle; }  // NOLINT(google-runtime-operator): an output argument
  operator T*() const { return handle; }
};
using Workspace = Owned<tamis_workspace, tamis_workspace_free>;
using Cache = Owned<tamis_cache, tamis_cache_free>;
using Plan = Owned<tamis_plan, tamis_plan_free>;
using Tensor = Owned<tamis_tensor, tamis_tensor_free>;
using Safetensors = Owned<tamis_safetensors, tamis_safetensors_free>;
using Trace = Owned<tamis_trace, tamis_trace_free>;
using Layer = Owned<tamis_layer, tamis_layer_free>;
using Pattern = Owned<tamis_pattern, tamis_pattern_free>;
using Witness = Owned<tamis_witness, tamis_witness_free>;
using Profile = Owned<tamis_profile, tamis_profile_free>;

inline void expect_usage(tamis_code code, const std::string& part) {
  EXPECT_EQ(code, TAMIS_USAGE);
  EXPECT_NE(std::string(tamis_last_error()).find(part), std::string::npos)
      << tamis_last_error() << " should mention " << part;
}

}  // namespace tamis_c
