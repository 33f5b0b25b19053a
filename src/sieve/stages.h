// Where the time of sparse attention goes: seconds per stage, for benchmarks. Off unless a workspace is
// given somewhere to count. Where threads take heads of their own it is their sum by the number of threads,
// and what one waits for another at the end counts nowhere.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace tamis {

enum class Stage : std::size_t { prepare, scan, select, refine, gather, certify, dense };
inline constexpr std::array stage_names{"prepare", "scan",    "select", "refine",
                                        "gather",  "certify", "dense"};

struct Stages {
  std::array<double, stage_names.size()> seconds{};
};

/// Adds the time since the last lap to a stage.
class StageClock {
 public:
  explicit StageClock(Stages* to) : to_(to) {
    if (to_ != nullptr) last_ = Clock::now();
  }
  void lap(Stage stage) {
    if (to_ == nullptr) return;
    const auto now = Clock::now();
    to_->seconds[static_cast<std::size_t>(stage)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Stages* to_;
  Clock::time_point last_;
};

}  // namespace tamis
