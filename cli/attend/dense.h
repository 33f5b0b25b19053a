// Dense attention of one layer of a trace, with a certificate for every query of every head.
#pragma once

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// Reads K and V once more than `dense` does, for the norms in the certificates. Allocates only
/// the result.
LayerResult dense_layer(const lab::Trace& trace, const lab::TraceLayer& layer,
                        const lab::LayerData& data, Workspace& workspace, Progress& progress);

}  // namespace tamis::cli
