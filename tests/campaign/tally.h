// What the certificate campaign has counted, by kind of numbers and by budget, and how it is reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "campaign/campaign.h"
#include "support/certificates.h"

namespace tamis::testing {

struct Tally {
  struct Line {
    Report report;
    std::int64_t rows = 0;  ///< distinct rows: each is tried with several budgets
  };
  std::map<std::string, Line> kinds;    ///< "01 normal", …: numbered to keep their order
  std::map<std::string, Line> budgets;  ///< "01 mass:0.3", …
  Line all;
  std::int64_t real_rows = 0;  ///< of all.rows, those of traces
  /// By claim, the first few violations, each with what is needed to repeat it.
  std::map<std::string, std::vector<std::string>> violations;

  void add(const Tally& other);
};

/// Markdown with command, machine, date and seed.
std::string report(const Tally& tally, const CampaignOptions& options,
                   const std::vector<std::string>& targets, double seconds);

}  // namespace tamis::testing
