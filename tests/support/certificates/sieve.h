// The one list of cases of sparse attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/cases.h"

namespace tamis::testing {

/// A case of attention over a cache that keeps so many sinks.
struct SieveCase {
  Case attention;
  std::int64_t sinks = 4;
};
std::string name(const SieveCase& c);

/// All kinds of numbers in all dtypes, head sizes from 1 to 1024 and values of other sizes, groups
/// of 1, 3, 4 and 8 with 1 to 4 queries (up to 32 rows per KV head), prefixes, sinks, numbers of
/// tokens around blocks.
std::vector<SieveCase> sieve_cases();

}  // namespace tamis::testing
