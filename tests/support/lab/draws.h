// Counts accepted draws of the paper's random construction, one d at a time, as the library's own
// estimates do for a whole grid.
#pragma once

#include <cstdint>

#include <tamis/lab/dmin.h>

namespace tamis::test {

/// The number of accepted draws of the range at the paper's d = 2m.
std::int64_t count_accepted(const lab::Pattern& pattern, const lab::Conditions& conditions,
                            std::int64_t d, lab::Draws draws, std::uint64_t seed, int threads = 0);

}  // namespace tamis::test
