// Patterns as C sees them.
#pragma once

#include <tamis/lab/pattern.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_pattern {
  tamis::lab::Pattern pattern;
};
