// Searches for inputs that violate certificates, with knowledge of how certificates are derived.
// It draws hard heads and keeps, for every way of calling an engine and every claim, the head that
// came nearest to a violation; then it changes that head in small steps for as long as it comes
// nearer. True values come from the oracle. Takes about 0.1 ms per head and way.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "support/certificates/subject.h"

namespace tamis::test {

inline constexpr std::array claim_names{"tau", "error", "lse"};

/// The result of the attack on one way.
struct Reached {
  std::string way;
  /// For each claim the largest ratio of the true value to the certified one; above 1 is a
  /// violation. For tau it is the ratio of their odds, since shares near 1 are all close
  /// to each other.
  std::array<double, 3> nearest{};
  /// For each claim a description of the row with that ratio.
  std::array<std::string, 3> where;
  std::int64_t records = 0;  ///< rows whose claims were checked
  std::int64_t sparse = 0;   ///< rows for which not everything was read
  std::int64_t violations = 0;
  std::string violation;  ///< description of the first violation

  void add(const Reached& other);
};

struct Attack {
  std::int64_t heads = 0;  ///< heads to draw; each is tried in all ways
  std::int64_t steps = 0;  ///< steps of each search; there is one search for every way and claim
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Attacks all ways and returns one result for each. Results do not depend on the
/// number of threads.
std::vector<Reached> attack(std::span<const Way> ways, const Attack& attack,
                            const kernels::Kernels& kernels);

}  // namespace tamis::test
