#include "lab/sweep/pool.h"

#include <new>
#include <utility>

#include <tamis/error.h>
#include <tamis/text.h>

#include "lab/sweep/database.h"

namespace tamis::lab::sweep {

Pool::Pool(const Work& work, int threads) : work_(work) {
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { this->work(); });
  } catch (...) {  // if a thread cannot be started, stop those that run
    stop();
    throw;
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  to_do_.notify_all();
}

void Pool::give(std::size_t point) {
  ++given_;
  {
    const std::lock_guard lock(mutex_);
    points_.push_back(point);
  }
  to_do_.notify_one();
}

std::vector<Outcome> Pool::take(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, patience, [this] { return !outcomes_.empty(); });
  given_ -= static_cast<int>(outcomes_.size());
  return std::exchange(outcomes_, {});
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    to_do_.wait(lock, [this] { return stopping_ || !points_.empty(); });
    if (stopping_) return;
    const std::size_t point = points_.front();
    points_.pop_front();
    lock.unlock();
    Outcome outcome = compute(point);
    lock.lock();
    if (stopping_) return;
    outcomes_.push_back(std::move(outcome));
    ended_.notify_one();
  }
}

Outcome Pool::compute(std::size_t point) const {
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  outcome.point = point;
  const auto failed = [&](std::string_view why) {
    outcome.failed = true;
    outcome.text = printable(why);
  };
  try {
    outcome.text = work_.compute(point, [this](double, double) { return !stopping_; });
    if (std::ssize(outcome.text) > most_text) failed("its result is longer than a store takes");
  } catch (const std::bad_alloc&) {
    failed("out of memory");
  } catch (const std::exception& error) {
    failed(error.what());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace tamis::lab::sweep
