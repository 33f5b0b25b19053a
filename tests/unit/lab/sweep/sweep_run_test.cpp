// Runs: every point once, the same store for any number of threads and ranks, recorded
// failures, cancelling, resuming.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <thread>

#include <tamis/error.h>

#include "core/fail.h"
#include "lab/sweep/messages.h"
#include "unit/lab/sweep/sweep_support.h"

namespace tamis {
namespace {

using namespace std::chrono_literals;

/// Points whose result is their square, and a count of how often each was computed.
struct Squares {
  Squares(std::string sweep, std::size_t count)
      : name(std::move(sweep)), points(made_up_points(count)), computed(count) {}
  lab::sweep::Work work() {
    return {name, points, [this](std::size_t i, const ProgressCallback&) {
              ++computed[i];
              return made_up_result(i);
            }};
  }
  std::string name;
  std::vector<lab::SweepPoint> points;
  std::vector<std::atomic<int>> computed;
};

std::vector<std::string> all_squares(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(made_up_result(i));
  return all;
}

/// Runs rank 0 and the others as threads. An exception of rank 0 is rethrown here once
/// the others ended.
void run_on_ranks(int ranks, int threads, lab::SweepStore& store,
                  const std::function<lab::sweep::Work(int rank)>& make,
                  const ProgressCallback& progress = {},
                  const std::function<bool(int rank)>& going = {}) {
  Boxes boxes(ranks);
  std::vector<std::jthread> others;
  for (int rank = 1; rank < ranks; ++rank)
    others.emplace_back([&, rank] {
      ThreadRank end(boxes, rank);
      lab::sweep::serve_work(
          end, threads, [&] { return make(rank); }, [&] { return !going || going(rank); });
    });
  ThreadRank end(boxes, 0);
  std::exception_ptr error;
  try {
    const lab::sweep::Work work = make(0);
    lab::sweep::run_work(work, store, {.threads = threads, .ranks = &end}, progress);
  } catch (...) {
    error = std::current_exception();
  }
  EXPECT_TRUE(lab::end_ranks(end, 60));
  others.clear();
  EXPECT_TRUE(boxes.empty()) << "a message was left unread";
  if (error) std::rethrow_exception(error);
}

std::string error_of(const std::function<void()>& call, Code expected) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(SweepRun, HoldsTheSameForAnyThreadsAndRanks) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  int cases = 0;
  EXPECT_TRUE(rc::check("every point is computed once", [&] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 40);
    const int threads = *rc::gen::inRange(1, 4);
    const int ranks = *rc::gen::inRange(1, 5);
    const auto before =
        *rc::gen::inRange<std::size_t>(0, count + 1);  // points that are done already
    Squares squares("squares " + std::to_string(cases++), count);
    std::vector<lab::StoredPoint> known;
    for (std::size_t i = 0; i < before; ++i)
      known.push_back({squares.points[i].parameters, made_up_result(i), "", 1, "", ""});
    store.record(squares.name, known);
    run_on_ranks(ranks, threads, store, [&](int) { return squares.work(); });
    RC_ASSERT(held(store, squares.work()) == all_squares(count));
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(squares.computed[i] == (i < before ? 0 : 1));
  }));
}

TEST(SweepRun, TakesTheLongestFirst) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const auto points = made_up_points(20);
  std::vector<double> order;
  const lab::sweep::Work work{"w", points, [&](std::size_t i, const ProgressCallback&) {
                                order.push_back(points[i].seconds);
                                return std::string("{}");
                              }};
  lab::sweep::run_work(work, store, {.threads = 1}, {});
  EXPECT_EQ(order.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(order, std::greater<>()));
}

TEST(SweepRun, RecordsFailuresGoesOnAndTriesThemAgain) {
  for (const int ranks : {1, 3}) {
    const Folder folder;
    lab::SweepStore store(folder / "s", lab::StoreUse::write);
    const auto points = made_up_points(6);
    std::atomic<bool> broken = true;
    const auto make = [&](int) {
      return lab::sweep::Work{"w", points,
                              [&](std::size_t i, const ProgressCallback&) -> std::string {
                                if (broken && i == 1)
                                  core::fail(Code::input, "point one is\x1b[31m bad");
                                if (broken && i == 2) throw std::bad_alloc();
                                if (broken && i == 3) throw std::runtime_error("odd");
                                if (broken && i == 4) core::fail(Code::cancelled, "on its own");
                                return made_up_result(i);
                              }};
    };
    run_on_ranks(ranks, 2, store, make);
    const std::vector<std::string> expected{
        made_up_result(0),       "failed: point one is\\x1b[31m bad",
        "failed: out of memory", "failed: odd",
        "failed: on its own",    made_up_result(5)};
    EXPECT_EQ(held(store, make(0)), expected);
    EXPECT_EQ(store.status()[0].failed, 4);
    broken = false;
    run_on_ranks(ranks, 2, store, make);
    EXPECT_EQ(held(store, make(0)), all_squares(6));
  }
}

TEST(SweepRun, CountsWhatItComputed) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const auto points = made_up_points(4);
  const lab::sweep::Work work{"w", points,
                              [](std::size_t i, const ProgressCallback&) -> std::string {
                                if (i == 3) core::fail(Code::input, "no");
                                return "{}";
                              }};
  double last = 0;
  double total = 0;
  const auto progress = [&](double done, double all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
    return true;
  };
  const lab::RunOutcome outcome = lab::sweep::run_work(work, store, {.threads = 2}, progress);
  EXPECT_EQ(outcome.computed, 3);
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_EQ(last, total);
  EXPECT_EQ(lab::sweep::run_work(work, store, {.threads = 2}, {}).computed, 0);
}

/// Points that end only when they are told to stop, except the first of the grid.
lab::sweep::Work endless(std::span<const lab::SweepPoint> points, std::atomic<int>& stopped) {
  return {"w", points, [&stopped](std::size_t i, const ProgressCallback& progress) -> std::string {
            if (i == 0) return made_up_result(0);
            while (progress(0, 1)) std::this_thread::sleep_for(1ms);
            ++stopped;
            core::fail(Code::cancelled, "stopped");
          }};
}

TEST(SweepRun, CancellingKeepsWhatIsDoneAndStopsWhatIsInFlight) {
  for (const int ranks : {1, 3}) {
    const Folder folder;
    lab::SweepStore store(folder / "s", lab::StoreUse::write);
    std::vector<lab::SweepPoint> points{{"{\"i\":0}", 9}};
    for (int i = 1; i < 9; ++i) points.push_back({"{\"i\":" + std::to_string(i) + "}", 1});
    std::atomic<int> stopped = 0;
    const auto make = [&](int) { return endless(points, stopped); };
    const auto until_first = [&](double done, double) { return done < 9; };
    const std::string sentence =
        error_of([&] { run_on_ranks(ranks, 2, store, make, until_first); }, Code::cancelled);
    EXPECT_NE(sentence.find("goes on from here"), std::string::npos) << sentence;
    std::vector<std::string> expected(9, "missing");
    expected[0] = made_up_result(0);
    EXPECT_EQ(held(store, make(0)), expected);
    EXPECT_GE(stopped, 1);
  }
}

TEST(SweepRun, EndsAllRanksWhenOneIsInterrupted) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const auto points = made_up_points(9);
  std::atomic<int> stopped = 0;
  const auto run = [&] {
    run_on_ranks(
        3, 1, store, [&](int) { return endless(points, stopped); }, {},
        [](int rank) { return rank != 2; });
  };
  EXPECT_EQ(error_of(run, Code::cancelled), "rank 2: interrupted");
}

TEST(SweepRun, EndsWithTheSentenceOfARankThatCannotBegin) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const auto points = made_up_points(9);
  std::atomic<int> stopped = 0;
  const auto make = [&](int rank) {
    if (rank == 1) core::fail(Code::input, "t.safetensors: there is no such file");
    return endless(points, stopped);
  };
  EXPECT_EQ(error_of([&] { run_on_ranks(3, 1, store, make); }, Code::input),
            "rank 1: t.safetensors: there is no such file");
}

TEST(SweepRun, RefusesARankWithAnotherGrid) {
  const Folder folder;
  lab::SweepStore store(folder / "s", lab::StoreUse::write);
  const auto points = made_up_points(9);
  const auto fewer = made_up_points(8);
  std::atomic<int> stopped = 0;
  const auto make = [&](int rank) {
    return endless(rank == 1 ? std::span<const lab::SweepPoint>(fewer) : points, stopped);
  };
  const std::string sentence = error_of([&] { run_on_ranks(2, 1, store, make); }, Code::usage);
  EXPECT_NE(sentence.find("rank 1 cannot take part: it has another grid"), std::string::npos)
      << sentence;
}

/// Discards what was sent to the only other rank up to a word of this kind.
void wait_for_word(Boxes& boxes, lab::sweep::RankWord::Kind kind) {
  for (;;) {
    const auto message = boxes.get(1);
    if (message && lab::sweep::decode(message->bytes).kind == kind) return;
    if (!message) std::this_thread::sleep_for(1ms);
  }
}

TEST(SweepRun, KeepsWhatARankHasDoneWhateverEndsTheRun) {
  const auto points = made_up_points(4);
  std::atomic<int> stopped = 0;
  const lab::sweep::Work work = endless(points, stopped);
  const auto fewer = made_up_points(3);
  const auto hello = [](const lab::sweep::Work& of) {
    return lab::sweep::encode({.kind = lab::sweep::RankWord::Kind::hello,
                               .text = lab::sweep::mark_text(lab::sweep::mark_of(of)),
                               .threads = 2});
  };
  const auto outcome = [](std::size_t i) {
    return lab::sweep::encode(
        {.kind = lab::sweep::RankWord::Kind::outcome, .point = i, .text = made_up_result(i)});
  };
  for (const std::string& last :
       {lab::sweep::encode({.kind = lab::sweep::RankWord::Kind::failed, .text = "lost its trace"}),
        std::string("noise"), outcome(99), hello(endless(fewer, stopped))}) {
    SCOPED_TRACE(last);
    const Folder folder;
    lab::SweepStore store(folder / "s", lab::StoreUse::write);
    Boxes boxes(2);
    for (const std::string& word : {hello(work), outcome(1), last}) boxes.put(0, {1, word});
    std::jthread other([&] {
      wait_for_word(boxes, lab::sweep::RankWord::Kind::hand_in);
      for (const std::string& word :
           {outcome(3), std::string("more noise"),
            lab::sweep::encode({.kind = lab::sweep::RankWord::Kind::handed_in})})
        boxes.put(0, {1, word});
    });
    ThreadRank end(boxes, 0);
    EXPECT_THROW(lab::sweep::run_work(work, store, {.threads = 1, .ranks = &end}, {}), Error);
    const std::vector<std::string> expected{"missing", made_up_result(1), "missing",
                                            made_up_result(3)};
    EXPECT_EQ(held(store, work), expected);
  }
}

TEST(SweepRun, NamesAnotherVersionAndOtherKernels) {
  const lab::sweep::GridMark mine{"0.1.0", "avx2", "00ff"};
  EXPECT_FALSE(lab::sweep::difference(mine, lab::sweep::mark_text(mine)));
  EXPECT_NE(
      lab::sweep::difference(mine, lab::sweep::mark_text({"0.2.0", "avx2", "00ff"}))->find("0.2.0"),
      std::string::npos);
  EXPECT_NE(lab::sweep::difference(mine, lab::sweep::mark_text({"0.1.0", "scalar", "00ff"}))
                ->find("TAMIS_TARGET"),
            std::string::npos);
  EXPECT_TRUE(lab::sweep::difference(mine, lab::sweep::mark_text({"0.1.0", "avx2", "00fe"})));
  EXPECT_TRUE(lab::sweep::difference(mine, "hello"));
}

TEST(SweepRun, StopsAllRanksWhenTheStoreFails) {
  const Folder folder;
  { const lab::SweepStore made(folder / "s", lab::StoreUse::write); }
  lab::SweepStore store(folder / "s", lab::StoreUse::read);  // takes no results
  const auto points = made_up_points(9);
  std::atomic<int> stopped = 0;
  const auto run = [&] {
    run_on_ranks(3, 1, store, [&](int) { return endless(points, stopped); });
  };
  EXPECT_NE(error_of(run, Code::io).find("cannot be written"), std::string::npos);
}

RC_GTEST_PROP(RankWord, ComesBackAsItWasSent, ()) {
  const lab::sweep::RankWord word{
      .kind = lab::sweep::RankWord::Kind::outcome,
      .point = *rc::gen::arbitrary<std::size_t>(),
      .point_failed = *rc::gen::arbitrary<bool>(),
      .seconds = *rc::gen::inRange(0, 1 << 30) / 7.0,
      .text = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)),
      .threads = *rc::gen::inRange(0, 100)};
  const lab::sweep::RankWord back = lab::sweep::decode(lab::sweep::encode(word));
  RC_ASSERT(back.kind == word.kind && back.point == word.point &&
            back.point_failed == word.point_failed);
  RC_ASSERT(back.seconds == word.seconds && back.text == word.text && back.threads == word.threads);
}

TEST(RankWord, OfOtherBytesIsRefused) {
  for (const char* bytes :
       {"", "[]", "{}", "[9,0,false,0,\"\",0,1]", "[0,0,false,0,\"\",0,9]", "[0,-1,1,0,\"\",0,1]"})
    EXPECT_THROW((void)lab::sweep::decode(bytes), Error) << bytes;
}

TEST(EndRanks, IsAnsweredByARankThatStillMakesItsGrid) {
  Boxes boxes(2);
  std::promise<void> released;
  const auto points = made_up_points(1);
  std::atomic<int> stopped = 0;
  std::jthread other([&] {
    ThreadRank rank(boxes, 1);
    const auto make = [&] {
      released.get_future().wait();
      return endless(points, stopped);
    };
    lab::sweep::serve_work(rank, 1, make, [] { return true; });
  });
  ThreadRank end(boxes, 0);
  EXPECT_TRUE(lab::end_ranks(end, 60));
  released.set_value();
}

TEST(EndRanks, GivesUpOnARankThatDoesNotAnswer) {
  Boxes boxes(2);
  ThreadRank end(boxes, 0);
  EXPECT_FALSE(lab::end_ranks(end, 0.01));
}

}  // namespace
}  // namespace tamis
