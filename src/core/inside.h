// What of the engine's inside libtamis-lab calls. The functions so marked leave libtamis under a
// version of their own, TAMIS_PRIVATE_x.y.z, which only the lab of the same release finds
// (exports.map.in); they are no part of the API.
#pragma once

#include <tamis/export.h>

#define TAMIS_INSIDE TAMIS_API
