// An adversary that knows how certificates are made. It draws hard heads, keeps for every way of
// asking an engine and every claim the head that came nearest to a violation, and changes that head
// as long as it comes nearer. Random heads alone leave most of what it finds. The truth is the
// oracle's. About 0.1 ms per head and way.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "support/certificates/subject.h"

namespace tamis::testing {

inline constexpr std::array claim_names{"tau", "error", "lse"};

/// What the attack on one way reached.
struct Reached {
  std::string way;
  /// For each claim true / certified, for tau as odds, since near 1 every share is close to every
  /// other. Above 1 is a violation.
  std::array<double, 3> nearest{};
  std::array<std::string, 3> where;
  std::int64_t records = 0;  ///< rows whose claims were checked
  std::int64_t sparse = 0;   ///< of which not everything was read
  std::int64_t violations = 0;
  std::string violation;  ///< the first of them

  void add(const Reached& other);
};

struct Attack {
  std::int64_t heads = 0;  ///< drawn; all ways are tried on each
  std::int64_t steps = 0;  ///< of each search, of which there is one for every way and claim
  std::uint64_t seed = 1;
  int threads = 1;
};

/// One entry for each way. The same for any number of threads.
std::vector<Reached> attack(std::span<const Way> ways, const Attack& attack,
                            const kernels::Kernels& kernels);

}  // namespace tamis::testing
