// Calls on different sequences at once.
#include <gtest/gtest.h>
#include <tamis/cache.h>

#include <string>
#include <thread>
#include <vector>

#include "support/cache/cache_model.h"

namespace tamis::test {
namespace {

constexpr Heads heads{.query_heads = 2, .kv_heads = 2, .key_dim = 8, .value_dim = 8, .scale = 1.0F};

TEST(CacheThreads, SequencesThatSharePagesGrowForkShedAndGoAtOnce) {
  CacheOptions options;
  options.raw_below = 0;
  options.bits = 16;
  Cache cache(heads, options);
  Workspace workspace(1);
  cache.add(0);
  test::ModelTokens prefix;
  for (std::uint64_t t = 0; t < 700; ++t)
    prefix.push_back(test::random_token(heads, options.dtype, true, t));
  test::append(cache, {0}, {prefix}, options.dtype, {}, workspace);
  const std::size_t before = cache.bytes() - cache.free_bytes();

  constexpr std::uint64_t workers = 4;
  constexpr int rounds = 25;
  std::vector<std::string> said(workers);
  const auto work = [&](std::uint64_t worker) {
    Workspace own(1);
    for (int round = 0; round < rounds && said[worker].empty(); ++round) {
      const Sequence first = 1000 * (worker + 1) + 2 * static_cast<std::uint64_t>(round);
      const Sequence second = first + 1;
      const auto cut =
          static_cast<std::int64_t>((worker * 191 + static_cast<std::uint64_t>(round) * 67) % 701);
      test::ModelTokens tokens(prefix.begin(), prefix.begin() + cut);
      cache.fork(0, cut, first);
      test::ModelTokens more;
      for (std::uint64_t t = 0; t < 140; ++t)
        more.push_back(test::random_token(heads, options.dtype, true, 5000 + worker * 200 + t));
      test::append(cache, {first}, {more}, options.dtype, {}, own);
      tokens.insert(tokens.end(), more.begin(), more.end());
      cache.fork(first, cut / 2, second);
      cache.shed(first, round % 2 == 0 ? 8 : 12, cache.tokens(first));
      said[worker] = test::difference(cache, first, tokens);
      (void)cache.bytes();
      (void)cache.contains(1000);
      cache.remove(first);
      tokens.resize(static_cast<std::size_t>(cut / 2));
      if (said[worker].empty()) said[worker] = test::difference(cache, second, tokens);
      cache.remove(second);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t w = 0; w < workers; ++w) threads.emplace_back(work, w);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& each : said) EXPECT_EQ(each, "");
  EXPECT_EQ(test::difference(cache, 0, prefix), "");
  EXPECT_EQ(cache.bytes() - cache.free_bytes(), before);
}

}  // namespace
}  // namespace tamis::test
