#include "support/lab/draws.h"

#include "lab/realise/jl/search.h"

namespace tamis::test {

std::int64_t count_accepted(const lab::Pattern& pattern, const lab::Conditions& conditions,
                            std::int64_t d, lab::Draws draws, std::uint64_t seed, int threads) {
  const lab::realisation::JlTarget target = lab::realisation::jl_target(pattern, conditions);
  lab::realisation::JlSearch search(target, seed, lab::numbers::Purpose::dmin, threads);
  return search.count(d / 2, {draws.first, draws.count}, {});
}

}  // namespace tamis::test
