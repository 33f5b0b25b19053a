// What checks of certificates have found.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/certificates/spread.h"

namespace tamis::testing {

struct Report {
  std::int64_t records = 0;     ///< certificates checked
  std::int64_t sparse = 0;      ///< of which see a key and were not computed densely
  std::int64_t dense = 0;       ///< of which say that dense attention was computed
  std::int64_t violations = 0;  ///< records that break a claim, and calls that do as a whole
  std::map<std::string, std::string> examples;  ///< by claim, its first violation in a sentence
  std::int64_t blind = 0;  ///< records whose certificate is below the oracle's own uncertainty
  std::int64_t empty = 0;  ///< sparse records that certify nothing: tau ≥ 1
  // certified / true of sparse records, where the truth exceeds the oracle's uncertainty.
  Spread tau;
  Spread error;

  void add(const Report& other);
};
/// The examples of a report, one after the other.
std::string text(const std::map<std::string, std::string>& examples);

}  // namespace tamis::testing
