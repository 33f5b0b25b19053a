#include "terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "terminal/duration.h"

namespace tamis::cli {
namespace {

constexpr auto between_updates = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress(std::vector<Stage> stages)
    : terminal_(isatty(STDERR_FILENO) == 1), stages_(std::move(stages)) {}

Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::enter(std::size_t stage) {
  const std::lock_guard lock(mutex_);
  account();
  current_ = stage;
}

void Progress::advance(double work) {
  const std::lock_guard lock(mutex_);
  account();
  stages_[current_].done += work;
  if (terminal_ && Clock::now() - shown_ >= between_updates) show();
}

void Progress::account() {
  const auto now = Clock::now();
  stages_[current_].seconds += std::chrono::duration<double>(now - counted_).count();
  counted_ = now;
}

void Progress::show() {
  double spent = 0;
  double left = 0;
  bool measured = true;
  for (const Stage& stage : stages_) {
    spent += stage.seconds;
    if (stage.done > 0)
      left += stage.seconds * (stage.total - stage.done) / stage.done;
    else if (stage.total > 0)
      measured = false;
  }
  // An estimate is shown only once the speed of every stage is known; before that it would be too
  // low.
  fmt::print(stderr, "\r\033[K{}", stages_[current_].name);
  if (measured)
    fmt::print(stderr, " {:.0f} %, about {} left", 100 * spent / (spent + left),
               duration_text(left));
  std::fflush(stderr);
  shown_ = Clock::now();
}

}  // namespace tamis::cli
