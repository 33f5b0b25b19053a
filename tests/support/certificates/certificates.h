// Counts and ratios that checks of certificates collect.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/certificates/spread.h"

namespace tamis::test {

struct Report {
  std::int64_t records = 0;     ///< certificates checked
  std::int64_t sparse = 0;      ///< of these, rows that see a key and were not computed densely
  std::int64_t dense = 0;       ///< of these, rows whose certificate says that attention was dense
  std::int64_t violations = 0;  ///< records with a false claim, and calls with a fault as a whole
  std::map<std::string, std::string> examples;  ///< the first violation of each claim, in words
  std::int64_t blind = 0;  ///< records with a certificate below the oracle's own uncertainty
  std::int64_t empty = 0;  ///< sparse records whose certificate says nothing: tau ≥ 1
  // Certified value divided by true value, over the sparse records whose true value exceeds
  // the oracle's uncertainty.
  Spread tau;
  Spread error;

  void add(const Report& other);
};
/// The examples of a report, joined into one text.
std::string text(const std::map<std::string, std::string>& examples);

}  // namespace tamis::test
