// The handle of the C ABI for a tensor, and conversions that several files need.
#pragma once

#include <tamis/lab/tensor.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_tensor {
  tamis::lab::Tensor tensor;
};

namespace tamis::lab::capi {

tamis_array to_c(const TensorInfo& info, const void* data);

/// The caller's array under the given name. Throws `usage` if its rank, shape or type is invalid.
TensorRef from_c(const tamis_array& array, const char* name);

/// The value of a metadata key, or null if there is none. It lives as long as `metadata`.
const char* find_metadata(const Metadata& metadata, const char* key);

}  // namespace tamis::lab::capi
