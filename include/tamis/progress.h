// How long calls report what they have done and are asked to stop.
#pragma once

#include <functional>

namespace tamis {

/// Told how much is done, from 0 to `total` in units of the call's own; returning false cancels,
/// and the call throws `cancelled`. Runs on the thread that made the call.
using ProgressCallback = std::function<bool(double done, double total)>;

}  // namespace tamis
