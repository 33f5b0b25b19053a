// The handle of the C ABI for a pattern.
#pragma once

#include <tamis/lab/pattern.h>

#include <tamis/lab/tamis_lab.h>

#include "capi/call.h"

struct tamis_pattern {
  tamis::lab::Pattern pattern;
};
