// The long checks of `make campaign`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tamis::testing {

struct CampaignOptions {
  std::int64_t records = 10'000'000;
  std::int64_t pairs = 300'000;  ///< of documents at most, in LIMIT
  double time_limit = 60;        ///< seconds for each pattern that is decided
  std::int64_t heads = 1000;     ///< planted for every line of the laws
  std::int64_t patterns = 300;   ///< random 5 × 5 ones to decide
  std::uint64_t seed = 1;
  int threads = 0;                  ///< 0: all cores
  std::string out;                  ///< Markdown, if not empty
  std::int64_t drawn = 1000;        ///< heads that the adversary draws in a round
  std::int64_t steps = 100;         ///< of each of its searches
  std::string target = "all";       ///< that it attacks
  std::vector<std::string> traces;  ///< all their rows are tried too
  std::string command;              ///< as it was given, for the report
};

/// The processor's name, as Linux tells it.
std::string processor();
/// Prints a report and writes it to options.out, if given; throws if that cannot be written.
void publish(const std::string& report, const CampaignOptions& options);

/// Every float through exp2 of every target. True if the bound holds.
bool check_exp2(const CampaignOptions& options);
/// Closed-form witnesses at the sizes they are said to reach. True if all hold.
bool check_moment(const CampaignOptions& options);
/// Certificates of sparse attention against the oracle. True if none is violated.
bool check_certificates(const CampaignOptions& options);
/// The same against an adversary that knows the code, with a tenth as many records. True if none is
/// violated.
bool check_adversary(const CampaignOptions& options);
/// Planted laws found again, intervals for C and conformal budgets covering. True if all do as
/// docs/laws.md states.
bool check_laws(const CampaignOptions& options);
/// d_min of the paper's construction, where it is known. True if medians agree and fast draws are
/// accepted as often as literal ones.
bool check_dmin(const CampaignOptions& options);
/// The most documents all of whose pairs a verified f32 witness tells apart, by dimension. True if
/// at d = 8 and 16 they are four times those of free embeddings.
bool check_limit(const CampaignOptions& options);
/// Bounds of d_min for random and known patterns. True if all evidence holds.
bool check_decide(const CampaignOptions& options);
/// Small patterns decided by descent and by a solver. True if they never contradict each other.
bool check_patterns(const CampaignOptions& options);

}  // namespace tamis::testing
