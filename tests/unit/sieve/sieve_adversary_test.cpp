// A short run of the adversary's campaign, and a check that it would find a violation.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/certificates/adversary.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

TEST(SieveAdversary, FindsNoFalseCertificate) {
  const std::vector<Way> ways = ways_of_planes();
  std::uint64_t seed = 1;
  for_each_target([&](const char* target) {
    for (const Reached& reached : attack(ways, {120, 8, seed, 2}, kernels::kernels())) {
      EXPECT_EQ(reached.violations, 0)
          << reached.way << " on " << target << ", seed " << seed << ", " << reached.violation;
      EXPECT_GT(reached.sparse, 0) << reached.way;
    }
    ++seed;
  });
}

TEST(SieveAdversary, NoticesClaimsThatAreATenthTooSmall) {
  std::vector<Way> ways = ways_of_planes();
  std::erase_if(ways, [](const Way& way) { return !way.name.starts_with("window"); });
  for (Way& way : ways)
    way.attend = [attend = way.attend](const Question& question, Workspace& workspace) {
      auto answer = attend(question, workspace);
      for (std::size_t r = 0; answer && r < answer->claims.size(); ++r)
        answer->claims[r].tau *= 0.9;
      return answer;
    };
  for (const Reached& reached : attack(ways, {200, 0, 1, 2}, kernels::kernels()))
    EXPECT_GT(reached.nearest[0], 1.0) << reached.way << " " << reached.where[0];
}

TEST(SieveAdversary, FindsTheSameWithAnyNumberOfThreads) {
  std::vector<Way> ways = ways_of_planes();
  ways.resize(3);
  const std::vector<Reached> one = attack(ways, {70, 5, 3, 1}, kernels::kernels());
  const std::vector<Reached> three = attack(ways, {70, 5, 3, 3}, kernels::kernels());
  for (std::size_t w = 0; w < ways.size(); ++w) {
    EXPECT_EQ(one[w].nearest, three[w].nearest);
    EXPECT_EQ(one[w].where, three[w].where);
    EXPECT_EQ(one[w].records, three[w].records);
  }
}

}  // namespace
}  // namespace tamis::test
