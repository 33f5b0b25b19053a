// Tensors as C sees them.
#pragma once

#include <tamis/lab/tensor.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_tensor {
  tamis::lab::Tensor tensor;
};

namespace tamis::lab::capi {

tamis_array to_c(const TensorInfo& info, const void* data);

/// The caller's array under that name. Throws `usage` for a rank, shape or type that there is not.
TensorRef from_c(const tamis_array& array, const char* name);

/// The value of a metadata key, or null. Lives as long as `metadata`.
const char* find_metadata(const Metadata& metadata, const char* key);

}  // namespace tamis::lab::capi
