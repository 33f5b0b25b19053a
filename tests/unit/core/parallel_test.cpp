#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tamis/attention.h>
#include <tamis/error.h>
#include <tamis/info.h>

#include "support/cases.h"

namespace tamis {
namespace {

TEST(Parallel, EveryItemRunsOnceWhateverTheThreads) {
  for (const int threads : {0, 1, 2, 7})
    for (const std::int64_t items : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(items));
      core::parallel_for(items, threads, [&](std::int64_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, std::max(1, threads));
        ++runs[static_cast<std::size_t>(i)];
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
}

TEST(Parallel, AnExceptionStopsTheLoopAndArrives) {
  for (const int threads : {1, 4}) {
    // There are so many items that a thread that throws is in time even if it first waits
    // for a core.
    constexpr std::int64_t items = 1'000'000'000;
    std::atomic<std::int64_t> ran = 0;
    EXPECT_THROW(core::parallel_for(items, threads,
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
  core::parallel_for(4, 2, [&](std::int64_t, int) {
    core::parallel_for(5, 2, [&](std::int64_t, int) { ++ran; });
  });
  EXPECT_EQ(ran, 20);
}

/// Runs only some of the workers, one after the other, like an engine whose threads are all busy
/// or that has only one.
struct OneAfterTheOther : Executor {
  explicit OneAfterTheOther(int first_left_out) : end(first_left_out) {}
  int concurrency() const override { return 4; }
  void run(int workers, void* context, void (*body)(void*, int)) override {
    ++runs;
    for (int worker = 0; worker < std::min(workers, end); ++worker) body(context, worker);
  }
  int end;
  int runs = 0;
};

/// Makes a new thread for each worker; worker 0 runs last.
struct FreshThreads : Executor {
  int concurrency() const override { return 4; }
  void run(int workers, void* context, void (*body)(void*, int)) override {
    std::vector<std::jthread> others;
    for (int worker = 1; worker < workers; ++worker) others.emplace_back(body, context, worker);
    for (std::jthread& other : others) other.join();
    body(context, 0);
  }
};

TEST(Parallel, AnExecutorMayLeaveWorkersOutAndRunThemInAnyOrder) {
  OneAfterTheOther all(4);
  OneAfterTheOther first(1);
  FreshThreads fresh;
  for (Executor* executor : std::initializer_list<Executor*>{&all, &first, &fresh}) {
    std::vector<std::atomic<int>> runs(1000);
    core::parallel_for(1000, {4, executor},
                       [&](std::int64_t i, int) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_THROW(core::parallel_for(10, {4, executor},
                                    [](std::int64_t i, int) {
                                      if (i == 3) throw std::runtime_error("item 3");
                                    }),
                 std::runtime_error);
  }
}

TEST(Parallel, AnExecutorThatRunsNothingIsAnErrorNotAWrongResult) {
  OneAfterTheOther none(0);
  EXPECT_THROW(core::parallel_for(10, {4, &none}, [](std::int64_t, int) {}), Error);
}

TEST(Parallel, InnerLoopsAskNoExecutor) {
  OneAfterTheOther executor(4);
  core::parallel_for(4, {4, &executor}, [&](std::int64_t, int) {
    core::parallel_for(5, {4, &executor}, [](std::int64_t, int) {});
  });
  EXPECT_EQ(executor.runs, 1);
}

TEST(Parallel, AnEngineMayPutItsThreadsInThePlaceOfTheLibrarys) {
  EXPECT_EQ(parallel_runtime(), "threads");
  OneAfterTheOther executor(4);
  set_default_executor(&executor);
  EXPECT_EQ(parallel_runtime(), "executor");
  EXPECT_EQ(Workspace().threads(), 4);
  EXPECT_EQ(core::thread_count(0), 4);
  EXPECT_EQ(core::thread_count(3), 3);
  EXPECT_EQ(core::thread_count(4096), 4);
  core::parallel_for(10, 2, [](std::int64_t, int) {});
  set_default_executor(nullptr);
  EXPECT_EQ(executor.runs, 1);
  core::parallel_for(10, 2, [](std::int64_t, int) {});
  EXPECT_EQ(executor.runs, 1);
  EXPECT_EQ(parallel_runtime(), "threads");
}

TEST(Parallel, AttentionIsTheSameOnAnyExecutor) {
  test::Case c;
  c.shape = {6, 3, 2, 24, 24, DType::f16, 0.3F};
  c.tokens = 3000;
  const test::Problem problem(c);
  const auto results = [&](Workspace workspace) {
    std::vector<float> out(static_cast<std::size_t>(c.shape.rows() * c.shape.value_dim));
    std::vector<float> lse(static_cast<std::size_t>(c.shape.rows()));
    dense(c.shape, problem.q(), problem.kv(), {}, workspace,
          {out.data(), c.shape.rows(), c.shape.value_dim}, lse);
    out.insert(out.end(), lse.begin(), lse.end());
    return out;
  };
  const std::vector<float> expected = results(Workspace(1));
  OneAfterTheOther in_turn(4);
  FreshThreads fresh;
  EXPECT_EQ(results(Workspace(4, in_turn)), expected);
  EXPECT_EQ(in_turn.runs, 1);
  EXPECT_EQ(results(Workspace(4, fresh)), expected);
  EXPECT_EQ(results(Workspace()), expected);
}

}  // namespace
}  // namespace tamis
