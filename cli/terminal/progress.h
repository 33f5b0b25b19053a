// Shows how far a long command is and how long it will still take: one line on standard error if
// that is a terminal, nothing otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tamis::cli {

/// Work comes in stages of different speeds. The speed of each stage is measured on its own, so
/// that the estimate holds when cheap and expensive stages alternate. enter() and advance() are
/// thread-safe.
class Progress {
 public:
  /// A stage with its name and its total work, in units of its own.
  struct Stage {
    std::string name;
    double total = 0;
    double done = 0;
    double seconds = 0;
  };
  explicit Progress(std::vector<Stage> stages);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Time from this call on counts for `stage`.
  void enter(std::size_t stage);
  void advance(double work);

 private:
  using Clock = std::chrono::steady_clock;
  void account();
  void show();

  bool terminal_;
  std::mutex mutex_;
  std::vector<Stage> stages_;
  std::size_t current_ = 0;
  Clock::time_point counted_ = Clock::now();
  Clock::time_point shown_ = counted_;
};

}  // namespace tamis::cli
