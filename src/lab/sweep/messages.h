// The messages between ranks. Rank 0 sends task, hand_in and stop; the others send hello, outcome,
// failed, handed_in and bye. A rank sends hello once it has its grid, then an outcome for each
// task, or failed. It reads rank 0's messages at all times, also while it reads a trace: it
// answers hand_in with the outcomes it has and handed_in, and stop with bye, its last message. No
// message is thus left unread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tamis/error.h>

#include "lab/sweep/work.h"

namespace tamis::lab::sweep {

/// Ranks look for messages this often, because a blocking receive of Open MPI keeps a core busy.
inline constexpr std::chrono::milliseconds between_polls{1};

struct RankWord {
  enum class Kind { task, hand_in, stop, hello, outcome, failed, handed_in, bye };
  Kind kind = Kind::stop;
  std::size_t point = 0;      ///< for task and outcome
  bool point_failed = false;  ///< for outcome
  double seconds = 0;         ///< for outcome
  /// For outcome the result or the error, for failed the error, for hello the text of
  /// the grid's mark.
  std::string text{};
  int threads = 0;             ///< for hello
  Code code = Code::internal;  ///< for failed
};

std::string encode(const RankWord& word);
/// Throws `internal` for bytes that `encode` did not produce.
RankWord decode(const std::string& bytes);

/// What all ranks must agree on: version, kernels, grid and trace.
struct GridMark {
  std::string version;
  std::string target;
  /// Hash of the sweep's name and all its points, which include the hash of their trace.
  std::string hash;
};
GridMark mark_of(const Work& work);
std::string mark_text(const GridMark& mark);
/// Returns a sentence that says how another rank's mark differs from rank 0's, or nothing
/// if they agree.
std::optional<std::string> difference(const GridMark& mine, const std::string& theirs);

}  // namespace tamis::lab::sweep
