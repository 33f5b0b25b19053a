// Patterns as C sees them.
#pragma once

#include <tamis/pattern.h>

#include "capi/call.h"

struct tamis_pattern {
  tamis::Pattern pattern;
};
