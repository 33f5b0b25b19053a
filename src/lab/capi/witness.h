// Witnesses and their conditions as C sees them.
#pragma once

#include <tamis/lab/witness.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_witness {
  tamis::lab::Witness witness;
};

namespace tamis::lab::capi {

/// Null gives the strict ones.
Conditions conditions_of(const tamis_conditions* from);

}  // namespace tamis::lab::capi
