// Says when a search must stop: the time is up, or the caller's callback says so. It is read often,
// by the thread that made the call only; searches end with what they have.
#pragma once

#include <algorithm>
#include <chrono>

#include <tamis/progress.h>

namespace tamis::lab::decision {

class Clock {
 public:
  /// Keeps `progress`, which may be empty, by reference.
  Clock(double seconds, const ProgressCallback& progress)
      : begin_(Time::now()), end_(seconds), limit_(seconds), progress_(&progress) {}

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Time::now() - begin_).count();
  }
  [[nodiscard]] double left() const { return std::max(0.0, end_ - elapsed()); }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

  /// Whether to stop now. Costs two readings of the time, and calls the callback at most ten times
  /// a second.
  bool over() {
    const double now = elapsed();
    if (*progress_ && !interrupted_ && now >= next_told_) {
      next_told_ = now + 0.1;
      interrupted_ = !(*progress_)(std::min(now, limit_), limit_);
    }
    return interrupted_ || now >= end_;
  }

  /// The time for one part of the work: until `seconds` from now or until this clock ends,
  /// whichever is first. This clock must outlive the part.
  class Part;

 private:
  using Time = std::chrono::steady_clock;
  Time::time_point begin_;
  double end_;
  double limit_;
  double next_told_ = 0;
  bool interrupted_ = false;
  const ProgressCallback* progress_;
};

/// The share of a clock's time that one search may use.
class Clock::Part {
 public:
  Part(Clock& whole, double seconds)
      : whole_(whole), end_(whole.elapsed() + std::min(seconds, whole.left())) {}
  /// A share of another part's time.
  Part(Part& of, double seconds)
      : whole_(of.whole_), end_(std::min(of.end_, of.whole_.elapsed() + seconds)) {}
  bool over() { return whole_.over() || whole_.elapsed() >= end_; }
  [[nodiscard]] double left() const { return std::max(0.0, end_ - whole_.elapsed()); }
  /// A callback that cancels a call when the part is over.
  [[nodiscard]] ProgressCallback callback() {
    return [this](double, double) { return !over(); };
  }

 private:
  Clock& whole_;
  double end_;
};

}  // namespace tamis::lab::decision
