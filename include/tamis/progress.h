// The callback through which long calls report progress and can be cancelled.
#pragma once

#include <functional>

namespace tamis {

/// Receives the work done so far, from 0 to `total`, in units that the call chooses. If it returns
/// false, the call throws `cancelled`. It runs on the thread that made the call.
using ProgressCallback = std::function<bool(double done, double total)>;

}  // namespace tamis
