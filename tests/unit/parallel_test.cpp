#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tamis {
namespace {

TEST(Parallel, EveryItemRunsOnceWhateverTheThreads) {
  for (const int threads : {0, 1, 2, 7})
    for (const std::int64_t items : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(items));
      parallel_for(items, threads, [&](std::int64_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, std::max(1, threads));
        ++runs[static_cast<std::size_t>(i)];
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
}

TEST(Parallel, AnExceptionStopsTheLoopAndArrives) {
  for (const int threads : {1, 4}) {
    // So many that a thread which throws, and is then kept waiting for a core, is still in time.
    constexpr std::int64_t items = 1'000'000'000;
    std::atomic<std::int64_t> ran = 0;
    EXPECT_THROW(parallel_for(items, threads,
                              [&](std::int64_t i, int) {
                                ++ran;
                                if (i == 10) throw std::runtime_error("item 10");
                              }),
                 std::runtime_error);
    EXPECT_LT(ran, items);
  }
}

TEST(Parallel, LoopsNest) {
  std::atomic<int> ran = 0;
  parallel_for(4, 2, [&](std::int64_t, int) { parallel_for(5, 2, [&](std::int64_t, int) { ++ran; }); });
  EXPECT_EQ(ran, 20);
}

}  // namespace
}  // namespace tamis
