// The handle of the C ABI for a witness, and the conversion of conditions.
#pragma once

#include <tamis/lab/witness.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_witness {
  tamis::lab::Witness witness;
};

namespace tamis::lab::capi {

/// The caller's conditions, or the default ones for null.
Conditions conditions_of(const tamis_conditions* from);

}  // namespace tamis::lab::capi
