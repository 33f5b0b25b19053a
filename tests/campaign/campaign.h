// Options and entry points of the long checks that `make campaign` runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tamis::test {

struct CampaignOptions {
  /// sparse results to check, at least
  std::int64_t records = 10'000'000;
  std::int64_t pairs = 300'000;  ///< in LIMIT, at most this many pairs of documents
  double time_limit = 60;        ///< seconds for each pattern that is decided
  std::int64_t heads = 1000;     ///< heads planted for each line of the tables of laws
  std::int64_t patterns = 300;   ///< random 5 × 5 patterns to decide
  std::uint64_t seed = 1;
  int threads = 0;                  ///< 0 for all cores
  std::string out;                  ///< Markdown file to write, if not empty
  std::int64_t drawn = 1000;        ///< heads that the adversary draws in a round
  std::int64_t steps = 100;         ///< steps of each of the adversary's searches
  std::string target = "all";       ///< target that the adversary attacks
  std::vector<std::string> traces;  ///< trace files; all their rows are tried too
  std::string command;              ///< the command line, for the report
};

/// The processor's name, as Linux reports it.
std::string processor();
/// Prints a report and, if options.out is given, writes it there. Throws if it cannot be written.
void publish(const std::string& report, const CampaignOptions& options);

/// Computes exp2 of every float in range on every target. True if the bound holds.
bool check_exp2(const CampaignOptions& options);
/// Verifies closed-form witnesses at the sizes that they are documented to reach. True
/// if all hold.
bool check_moment(const CampaignOptions& options);
/// Compares certificates of sparse attention with the oracle. True if none is violated.
bool check_certificates(const CampaignOptions& options);
/// Does the same on inputs from an adversary that knows the code, with a tenth as many records.
/// True if none is violated.
bool check_adversary(const CampaignOptions& options);
/// Fits planted laws, intervals for C and conformal budgets. True if they are found and covered as
/// often as docs/laws.md states.
bool check_laws(const CampaignOptions& options);
/// Compares d_min of the paper's construction with known values. True if medians agree and fast
/// draws are accepted as often as literal ones.
bool check_dmin(const CampaignOptions& options);
/// For each dimension, finds the largest number of documents for which a verified f32 witness
/// separates every pair. True if at d = 8 and 16 it is four times that of free embeddings.
bool check_limit(const CampaignOptions& options);
/// Bounds d_min for random and known patterns. True if all evidence holds.
bool check_decide(const CampaignOptions& options);
/// Decides small patterns by descent and by a solver. True if the two never contradict each other.
bool check_patterns(const CampaignOptions& options);

}  // namespace tamis::test
