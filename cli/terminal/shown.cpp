#include "terminal/shown.h"

#include "terminal/interrupt.h"

namespace tamis::cli {

ProgressCallback Shown::callback() {
  return [this](double done, double total) {
    if (!progress_) progress_.emplace(std::vector<Progress::Stage>{{what_, total}});
    progress_->advance(done - before_);
    before_ = done;
    return !interrupted();
  };
}

}  // namespace tamis::cli
