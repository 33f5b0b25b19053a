// The work of ranks other than 0: they compute the points that rank 0 sends and
// return their outcomes.
#include <future>
#include <new>
#include <optional>
#include <thread>

#include "core/fail.h"
#include "lab/sweep/messages.h"
#include "lab/sweep/pool.h"

namespace tamis::lab {
namespace {

void send_ended(Ranks& ranks, sweep::Pool& pool, std::chrono::milliseconds patience) {
  for (sweep::Outcome& outcome : pool.take(patience))
    ranks.send(0, sweep::encode({.kind = sweep::RankWord::Kind::outcome,
                                 .point = outcome.point,
                                 .point_failed = outcome.failed,
                                 .seconds = outcome.seconds,
                                 .text = std::move(outcome.text)}));
}

/// Handles all messages from rank 0, using `pool` if there is one. Returns true once rank
/// 0 says stop.
bool told_to_stop(Ranks& ranks, sweep::Pool* pool) {
  while (const auto message = ranks.poll()) {
    const sweep::RankWord word = sweep::decode(message->bytes);
    if (word.kind == sweep::RankWord::Kind::stop) return true;
    if (pool != nullptr && word.kind == sweep::RankWord::Kind::task) pool->give(word.point);
    if (word.kind == sweep::RankWord::Kind::hand_in) {
      if (pool != nullptr) send_ended(ranks, *pool, std::chrono::milliseconds(0));
      ranks.send(0, sweep::encode({.kind = sweep::RankWord::Kind::handed_in}));
    }
  }
  return false;
}

/// Serves until rank 0 says stop.
void serve(Ranks& ranks, int threads, std::future<sweep::Work>& making,
           const std::function<bool()>& keep_going) {
  const auto check = [&] {
    if (!keep_going()) core::fail(Code::cancelled, "interrupted");
  };
  for (; making.wait_for(sweep::between_polls) != std::future_status::ready; check())
    if (told_to_stop(ranks, nullptr)) return;
  const sweep::Work work = making.get();
  sweep::Pool pool(work, threads);
  ranks.send(0, sweep::encode({.kind = sweep::RankWord::Kind::hello,
                               .text = sweep::mark_text(sweep::mark_of(work)),
                               .threads = threads}));
  for (; !told_to_stop(ranks, &pool); check()) send_ended(ranks, pool, sweep::between_polls);
}

}  // namespace

void sweep::serve_work(Ranks& ranks, int threads, const std::function<Work()>& make,
                       const std::function<bool()>& keep_going) {
  RankWord failed{.kind = RankWord::Kind::failed};
  // Reads a trace, possibly for minutes. It must outlive the last message to rank 0.
  std::future<Work> making;
  try {
    making = std::async(std::launch::async, make);
    serve(ranks, threads, making, keep_going);
    return ranks.send(0, encode({.kind = RankWord::Kind::bye}));
  } catch (const Error& error) {
    failed.code = error.code();
    failed.text = error.what();
  } catch (const std::bad_alloc&) {
    failed.text = "out of memory";
  } catch (const std::exception& error) {
    failed.text = error.what();
  }
  ranks.send(0, encode(failed));
  while (!told_to_stop(ranks, nullptr)) std::this_thread::sleep_for(sweep::between_polls);
  ranks.send(0, encode({.kind = RankWord::Kind::bye}));
}

void serve_sweep(Ranks& ranks, int threads, const std::function<Sweep()>& make,
                 const std::function<bool()>& keep_going) {
  std::optional<Sweep> sweep;
  const auto work = [&]() -> sweep::Work {
    sweep.emplace(make());
    return {sweep->name(), sweep->points(),
            [&sweep](std::size_t point, const ProgressCallback& told) {
              return sweep->compute(point, 1, told);
            }};
  };
  sweep::serve_work(ranks, threads, work, keep_going);
}

}  // namespace tamis::lab
