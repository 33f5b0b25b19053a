// Witnesses and their conditions as C sees them.
#pragma once

#include <tamis/witness.h>

#include "capi/call.h"

struct tamis_witness {
  tamis::Witness witness;
};

namespace tamis::capi {

/// Null gives the strict ones.
Conditions conditions_of(const tamis_conditions* from);

}  // namespace tamis::capi
