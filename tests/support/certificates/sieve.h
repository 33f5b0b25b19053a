// The list of cases of sparse attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/cases.h"

namespace tamis::test {

/// An attention case, over a cache that keeps `sinks` sink tokens raw.
struct SieveCase {
  Case attention;
  std::int64_t sinks = 4;
};
std::string name(const SieveCase& c);

/// All kinds of numbers in all dtypes, head sizes from 1 to 1024 and value sizes that differ from
/// them, groups of 1, 3, 4 and 8 with 1 to 4 queries (up to 32 rows per KV head), prefixes, sinks,
/// and numbers of tokens around multiples of the block.
std::vector<SieveCase> sieve_cases();

}  // namespace tamis::test
