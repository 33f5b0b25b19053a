// TAMIS_INSIDE marks the internal functions of the engine that libtamis-lab calls. libtamis exports
// them under the symbol version TAMIS_PRIVATE_x.y.z, which only the lab of the same release finds
// (exports.map.in). They are not part of the API.
#pragma once

#include <tamis/export.h>

#define TAMIS_INSIDE TAMIS_API
