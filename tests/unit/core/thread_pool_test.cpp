// The library's own threads: shared by callers, asleep when idle, working after fork, and no
// obstacle at exit.
#include "core/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace tamis {
namespace {

using std::chrono::milliseconds;

/// Number of items that a loop of `items` ran. Each takes long enough for other threads to help.
std::int64_t ran(std::int64_t items, const core::Crew& crew) {
  std::atomic<std::int64_t> count = 0;
  core::parallel_for(items, crew, [&](std::int64_t, int) {
    ++count;
    std::this_thread::yield();
  });
  return count;
}

TEST(ThreadPool, ThreadsOtherThanTheCallersWork) {
  core::ThreadPool pool(3);
  std::latch all(3);  // no item ends before three threads have begun one
  std::atomic<int> workers = 0;
  core::parallel_for(3, {3, &pool}, [&](std::int64_t, int worker) {
    workers |= 1 << worker;
    all.arrive_and_wait();
  });
  EXPECT_EQ(workers, 7);
}

TEST(ThreadPool, ManyCallersShareOnePool) {
  core::ThreadPool pool(4);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, caller] {
        for (int loop = 0; loop < 500; ++loop) {
          const std::int64_t items = 1 + (loop + caller) % 9;
          wrong += ran(items, {1 + loop % 4, &pool}) != items;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ACallerWhoFindsNobodyFreeWorksAlone) {
  core::ThreadPool pool(2);
  std::latch busy(2);
  std::latch done(1);
  std::jthread other([&] {
    core::parallel_for(2, {2, &pool}, [&](std::int64_t, int) {
      busy.count_down();
      done.wait();
    });
  });
  busy.wait();
  std::set<std::thread::id> threads;
  core::parallel_for(10, {2, &pool},
                     [&](std::int64_t, int) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  done.count_down();
}

TEST(ThreadPool, ACallerDoesNotWaitForAThreadThatHasNotBegun) {
  // More helpers than this machine can run at once, and no work for them.
  core::ThreadPool pool(64);
  for (int loop = 0; loop < 200; ++loop) EXPECT_EQ(ran(2, {64, &pool}), 2);
}

TEST(ThreadPool, IdleThreadsUseNoTime) {
  core::ThreadPool pool(3);
  ran(100, {3, &pool});
  const auto cpu_seconds = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  // When a host stops a virtual CPU, the time is charged to the thread that was running on it.
  // Threads that spin would be charged at every such moment, so one quiet moment is enough.
  double least = 1;
  for (int moment = 0; moment < 20 && least > 0.002; ++moment) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(milliseconds(50));
    least = std::min(least, cpu_seconds() - before);
  }
  EXPECT_LT(least, 0.01);
}

TEST(ThreadPool, WorksAloneAfterItWasStopped) {
  core::ThreadPool pool(3);
  EXPECT_EQ(ran(100, {3, &pool}), 100);
  pool.stop();
  pool.stop();
  EXPECT_EQ(ran(100, {3, &pool}), 100);
}

/// The exit status of a child that runs `body`; −1 if it did not exit in time.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    body();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#ifdef TAMIS_UNDER_TSAN
constexpr bool children_may_make_threads = false;  // the sanitizer kills them
#else
constexpr bool children_may_make_threads = true;
#endif

TEST(ThreadPool, AForkedChildHasThreadsOfItsOwn) {
  if (!children_may_make_threads) GTEST_SKIP() << "not under this sanitizer";
  std::atomic<bool> going = true;
  std::jthread other([&] {
    while (going) ran(100, 2);
  });
  for (int fork = 0; fork < 20; ++fork)
    EXPECT_EQ(status_of_child([] { ::_exit(ran(1000, 2) == 1000 ? 0 : 2); }), 0);
  EXPECT_EQ(ran(100, 2), 100);
  going = false;
}

TEST(ThreadPool, AChildForkedInsideALoopComesOutOfIt) {
  if (!children_may_make_threads) GTEST_SKIP() << "not under this sanitizer";
  EXPECT_EQ(status_of_child([] {
              std::atomic<pid_t> parent = ::getpid();
              int status = 0;
              core::parallel_for(100, 2, [&](std::int64_t item, int worker) {
                if (item != 5) return;
                const pid_t child = ::fork();
                if (child > 0) ::waitpid(child, &status, 0);
                if (child == 0 && worker != 0) ::_exit(0);  // no caller here owns this thread
              });
              if (::getpid() != parent) ::_exit(ran(100, 2) == 100 ? 0 : 2);
              ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
            }),
            0);
}

/// Whether this process exits in the middle of its work, which then still holds memory.
[[maybe_unused]] bool ends_at_work = false;

TEST(ThreadPool, AProcessMayExitInsideALoop) {
  if (!children_may_make_threads) GTEST_SKIP() << "not under this sanitizer";
  for (const int which : {0, 1})
    EXPECT_EQ(status_of_child([which] {
                ends_at_work = true;
                std::latch both(2);
                core::parallel_for(2, 2, [&](std::int64_t, int worker) {
                  if (core::hardware_thread_count() > 1) both.arrive_and_wait();
                  if (worker == which || core::hardware_thread_count() == 1) std::exit(0);
                });
              }),
              0);
}

}  // namespace
}  // namespace tamis

#ifdef TAMIS_UNDER_ASAN
extern "C" int __lsan_is_turned_off() { return tamis::ends_at_work ? 1 : 0; }
#endif
