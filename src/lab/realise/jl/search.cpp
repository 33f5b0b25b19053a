#include "lab/realise/jl/search.h"

#include <atomic>
#include <mutex>

#include "core/fail.h"
#include "core/parallel.h"

namespace tamis::lab::realisation {
namespace {

/// Counts the draws done and reports progress, on the calling thread only: while that thread works,
/// and once at the end, as it may have had nothing to do.
class Teller {
 public:
  Teller(const ProgressCallback& progress, std::int64_t total)
      : progress_(progress), total_(static_cast<double>(total)) {}
  void done(int worker) {
    const std::int64_t now = ++done_;
    if (worker == 0) tell(static_cast<double>(now));
  }
  void end() const { tell(total_); }

 private:
  void tell(double now) const {
    if (progress_ && !progress_(now, total_))
      core::fail(Code::cancelled, "the search was cancelled");
  }

  const ProgressCallback& progress_;
  double total_;
  std::atomic<std::int64_t> done_{0};
};

}  // namespace

JlSearch::JlSearch(const JlTarget& target, std::uint64_t seed, numbers::Purpose purpose,
                   int threads)
    : target_(target),
      seed_(seed),
      purpose_(purpose),
      threads_(core::thread_count(threads)),
      workers_(static_cast<std::size_t>(threads_)) {}

JlDraw& JlSearch::worker(int number, std::int64_t m) {
  Worker& worker = workers_[static_cast<std::size_t>(number)];
  if (!worker.draw) worker.draw = std::make_unique<JlDraw>(target_);
  if (worker.m != m) {
    worker.draw->prepare(m, jl_plan(target_, m));
    worker.m = m;
  }
  return *worker.draw;
}

std::optional<JlSearch::Found> JlSearch::first(std::int64_t m, DrawRange range,
                                               const ProgressCallback& progress) {
  std::atomic<std::int64_t> best{range.count};
  std::mutex mutex;
  std::optional<Found> found;
  Teller teller(progress, range.count);
  core::parallel_for(range.count, threads_, [&](std::int64_t item, int number) {
    if (item > best) return;
    JlDraw& draw = worker(number, m);
    if (draw.draw(seed_, purpose_, static_cast<std::uint64_t>(range.first + item))) {
      Projection projection = draw.projection();
      if (projection_margin(target_, projection, 1) > 0) {
        const std::lock_guard lock(mutex);
        if (item < best) {
          best = item;
          found = {range.first + item, std::move(projection)};
        }
      }
    }
    teller.done(number);
  });
  teller.end();
  return found;
}

bool JlSearch::accepted(JlDraw& draw, std::int64_t number) const {
  if (!draw.draw(seed_, purpose_, static_cast<std::uint64_t>(number))) return false;
  return draw.in_doubt().empty() ||
         projection_margin(target_, draw.projection(), draw.in_doubt(), 1) > 0;
}

bool JlSearch::any(std::int64_t m, DrawRange range, const ProgressCallback& progress) {
  std::atomic<bool> found{false};
  Teller teller(progress, range.count);
  core::parallel_for(range.count, threads_, [&](std::int64_t item, int number) {
    if (!found && accepted(worker(number, m), range.first + item)) found = true;
    teller.done(number);
  });
  teller.end();
  return found;
}

std::int64_t JlSearch::count(std::int64_t m, DrawRange range, const ProgressCallback& progress) {
  std::atomic<std::int64_t> all{0};
  Teller teller(progress, range.count);
  core::parallel_for(range.count, threads_, [&](std::int64_t item, int number) {
    if (accepted(worker(number, m), range.first + item)) ++all;
    teller.done(number);
  });
  teller.end();
  return all;
}

}  // namespace tamis::lab::realisation
