// A sequence with a history: it is appended in pieces, cut back, forked, shed, saved and loaded.
// In the end it holds exactly the tokens that were asked for, so that attention must give the same
// result as for a sequence that was appended in one call.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include <tamis/cache.h>

namespace tamis::test {

/// Tokens in memory: `tokens` rows of all KV heads, in the cache's dtype.
struct Tokens {
  std::int64_t tokens = 0;
  tamis::Rows keys;
  tamis::Rows values;
};

/// The events that a history may contain. Their number, order and sizes are drawn at random.
struct Happenings {
  bool pieces = true;  ///< appended a few tokens at a time
  bool cuts = true;    ///< other tokens are appended and truncated again
  bool forks = true;   ///< the first tokens belonged to another sequence before
  bool sheds = false;  ///< planes of some tokens are dropped
  bool files = false;  ///< saved to a file and loaded again, once
};

/// Makes `sequence`, which must not exist, hold these tokens. Uses sequence numbers from sequence
/// + 1 on for intermediate steps and removes these sequences again, except that one which shares
/// blocks with the result is sometimes left.
void live_through(Cache& cache, Sequence sequence, const Tokens& tokens, const Happenings& may,
                  std::mt19937_64& random, Workspace& workspace);

}  // namespace tamis::test
