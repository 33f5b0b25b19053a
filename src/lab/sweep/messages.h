// What ranks say to one another. Rank 0: task, hand_in, stop. The others: hello, outcome, failed,
// handed_in, bye. A rank says hello once it has its grid, then an outcome for each task, or failed.
// It hears rank 0 at all times, also while it reads a trace: to hand_in it sends the outcomes it
// has and handed_in, to stop it answers bye, its last word; so no message is ever left unread.
#pragma once

#include <optional>
#include <string>

#include <tamis/error.h>

#include "lab/sweep/work.h"

namespace tamis::lab::sweep {

struct RankWord {
  enum class Kind { task, hand_in, stop, hello, outcome, failed, handed_in, bye };
  Kind kind = Kind::stop;
  std::size_t point = 0;       ///< of a task and an outcome
  bool point_failed = false;   ///< of an outcome
  double seconds = 0;          ///< likewise
  std::string text{};          ///< of an outcome; the sentence of failed; the grid of hello
  int threads = 0;             ///< of hello
  Code code = Code::internal;  ///< of failed
};

std::string encode(const RankWord& word);
/// Throws `internal` for bytes that `encode` did not make.
RankWord decode(const std::string& bytes);

/// What all ranks must agree on, as text that is equal only if they do: version, kernels, grid and
/// trace.
struct GridMark {
  std::string version;
  std::string target;
  std::string hash;  ///< of the sweep's name and all its points, which hold the hash of their trace
};
GridMark mark_of(const Work& work);
std::string mark_text(const GridMark& mark);
/// What differs, as a sentence about the other rank's; none if nothing does.
std::optional<std::string> difference(const GridMark& mine, const std::string& theirs);

}  // namespace tamis::lab::sweep
