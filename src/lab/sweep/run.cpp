// The run on rank 0, or in the only process: hands out points, longest first, and
// records their outcomes.
#include <tamis/lab/run.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <thread>

#include <tamis/info.h>

#include "core/fail.h"
#include "lab/sweep/messages.h"
#include "lab/sweep/pool.h"

namespace tamis::lab {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// interval of checks for Ctrl-C when there are no ranks to poll
constexpr milliseconds between_looks{100};
// time to wait for ranks to hand in their outcomes
constexpr std::chrono::seconds hand_in_patience{10};

class Lead {
 public:
  Lead(const sweep::Work& work, SweepStore& store, const RunOptions& options,
       const ProgressCallback& progress)
      : work_(work),
        store_(store),
        ranks_(options.ranks),
        progress_(progress),
        mark_(sweep::mark_of(work)) {
    find_missing();
    if (ranks_ != nullptr) idle_.resize(static_cast<std::size_t>(ranks_->size()), 0);
    store_.plan(work_.sweep, work_.points);
  }

  RunOutcome run(int threads) {
    const auto begin = Clock::now();
    std::size_t open = missing_.size();
    sweep::Pool pool(
        work_, static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), open)));
    std::vector<sweep::Outcome> outcomes;  // not recorded yet
    try {
      while (open > 0) {
        hand_out(pool);
        outcomes = pool.take(ranks_ == nullptr ? between_looks : sweep::between_polls);
        listen(outcomes);
        hand_out(pool);  // before writing, so that no thread waits for the disk
        open -= outcomes.size();
        record(outcomes);
        if (progress_ && !progress_(done_seconds_, total_seconds_))
          core::fail(Code::cancelled,
                     "the sweep was interrupted; the same command goes on from here");
      }
    } catch (...) {  // whatever the error, finished points must not be lost
      gather_last(pool, outcomes);
      record(outcomes);
      throw;
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result_;
  }

 private:
  void find_missing() {
    const auto known = store_.look_up(work_.sweep, work_.points);
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] && known[i]->result) continue;
      missing.push_back(i);
      total_seconds_ += work_.points[i].seconds;
    }
    std::ranges::stable_sort(missing, std::greater<>(),
                             [&](std::size_t i) { return work_.points[i].seconds; });
    missing_.assign(missing.begin(), missing.end());
  }

  std::size_t longest_missing() {
    const std::size_t point = missing_.front();
    missing_.pop_front();
    return point;
  }

  void hand_out(sweep::Pool& pool) {
    while (pool.idle() > 0 && !missing_.empty()) pool.give(longest_missing());
    for (std::size_t rank = 0; rank < idle_.size(); ++rank)
      for (; idle_[rank] > 0 && !missing_.empty(); --idle_[rank])
        ranks_->send(static_cast<int>(rank), sweep::encode({.kind = sweep::RankWord::Kind::task,
                                                            .point = longest_missing()}));
  }

  void listen(std::vector<sweep::Outcome>& outcomes) {
    if (ranks_ == nullptr) return;
    while (const auto message = ranks_->poll()) {
      const sweep::RankWord word = sweep::decode(message->bytes);
      int& idle = idle_.at(static_cast<std::size_t>(message->from));
      switch (word.kind) {
        case sweep::RankWord::Kind::hello:
          if (const auto differs = sweep::difference(mark_, word.text))
            core::fail(Code::usage, "rank {} cannot take part: {}", message->from, *differs);
          idle = word.threads;
          break;
        case sweep::RankWord::Kind::outcome:
          take_outcome(*message, word, outcomes);
          ++idle;
          break;
        case sweep::RankWord::Kind::failed:
          core::fail(word.code, "rank {}: {}", message->from, word.text);
        default:
          core::fail(Code::internal, "rank {} said what only rank 0 says", message->from);
      }
    }
  }

  /// Collects the outcomes of all points that ended here and on other ranks. The outcomes of a
  /// rank that does not answer in time are lost.
  void gather_last(sweep::Pool& pool, std::vector<sweep::Outcome>& outcomes) {
    std::ranges::move(pool.take(milliseconds(0)), std::back_inserter(outcomes));
    if (ranks_ == nullptr) return;
    int awaited = ranks_->size() - 1;
    for (int rank = 1; rank <= awaited; ++rank)
      ranks_->send(rank, sweep::encode({.kind = sweep::RankWord::Kind::hand_in}));
    for (auto end = Clock::now() + hand_in_patience; awaited > 0 && Clock::now() < end;) {
      const auto message = ranks_->poll();
      if (!message) {
        std::this_thread::sleep_for(sweep::between_polls);
        continue;
      }
      try {
        const sweep::RankWord word = sweep::decode(message->bytes);
        if (word.kind == sweep::RankWord::Kind::handed_in) --awaited;
        if (word.kind == sweep::RankWord::Kind::outcome) take_outcome(*message, word, outcomes);
      } catch (const Error&) {  // another error is being reported already
      }
    }
  }

  void take_outcome(const RankMessage& message, const sweep::RankWord& word,
                    std::vector<sweep::Outcome>& outcomes) const {
    if (word.point >= work_.points.size())
      core::fail(Code::internal, "rank {} sent point {}, which there is not", message.from,
                 word.point);
    outcomes.push_back({word.point, word.point_failed, word.text, word.seconds});
  }

  /// Records the outcomes and clears them. If the store throws, they stay as they were.
  void record(std::vector<sweep::Outcome>& outcomes) {
    if (outcomes.empty()) return;
    std::vector<StoredPoint> points;
    for (const sweep::Outcome& outcome : outcomes) {
      StoredPoint& put = points.emplace_back(StoredPoint{work_.points[outcome.point].parameters,
                                                         {},
                                                         {},
                                                         outcome.seconds,
                                                         mark_.version,
                                                         mark_.target});
      if (outcome.failed)
        put.error = outcome.text;
      else
        put.result = outcome.text;
    }
    store_.record(work_.sweep, points);
    for (const sweep::Outcome& outcome : outcomes) {
      done_seconds_ += work_.points[outcome.point].seconds;
      ++(outcome.failed ? result_.failed : result_.computed);
    }
    outcomes.clear();
  }

  const sweep::Work& work_;
  SweepStore& store_;
  Ranks* ranks_;
  const ProgressCallback& progress_;
  sweep::GridMark mark_;
  std::deque<std::size_t> missing_;  // longest first
  std::vector<int> idle_;            // number of idle threads of every rank
  double done_seconds_ = 0;
  double total_seconds_ = 0;
  RunOutcome result_;
};

}  // namespace

RunOutcome sweep::run_work(const Work& work, SweepStore& store, const RunOptions& options,
                           const ProgressCallback& progress) {
  if (options.threads < 1)
    core::fail(Code::usage, "threads is {}; it must be at least 1", options.threads);
  return Lead(work, store, options, progress).run(options.threads);
}

RunOutcome run_sweep(const Sweep& sweep, SweepStore& store, const RunOptions& options,
                     const ProgressCallback& progress) {
  const sweep::Work work{sweep.name(), sweep.points(),
                         [&sweep](std::size_t point, const ProgressCallback& told) {
                           return sweep.compute(point, 1, told);
                         }};
  return sweep::run_work(work, store, options, progress);
}

bool end_ranks(Ranks& ranks, double patience) {
  for (int rank = 1; rank < ranks.size(); ++rank)
    ranks.send(rank, sweep::encode({.kind = sweep::RankWord::Kind::stop}));
  const auto end = Clock::now() + std::chrono::duration<double>(patience);
  for (int left = ranks.size() - 1; left > 0;) {
    if (const auto message = ranks.poll()) {
      if (sweep::decode(message->bytes).kind == sweep::RankWord::Kind::bye) --left;
    } else if (Clock::now() > end) {
      return false;
    } else {
      std::this_thread::sleep_for(sweep::between_polls);
    }
  }
  return true;
}

}  // namespace tamis::lab
