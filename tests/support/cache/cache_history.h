// A sequence that did not come into its cache in one go: appended in pieces, cut back, forked,
// shed, saved and loaded. What it holds in the end is what was asked for, and attention must not
// see the difference.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include <tamis/cache.h>

namespace tamis::testing {

/// Tokens as they lie in memory: `tokens` rows of all KV heads, in the cache's dtype.
struct Tokens {
  std::int64_t tokens = 0;
  tamis::Rows keys;
  tamis::Rows values;
};

/// What may happen on the way. Everything else of a history is drawn.
struct Happenings {
  bool pieces = true;  ///< appended a few tokens at a time
  bool cuts = true;    ///< other tokens are appended and taken back
  bool forks = true;   ///< the beginning belonged to another sequence first
  bool sheds = false;  ///< planes of some tokens are dropped
  bool files = false;  ///< saved and loaded once
};

/// Makes `sequence`, which must not exist, hold these tokens. Uses names from sequence + 1 on
/// besides, and removes them again, but for one now and then that shares its blocks.
void live_through(Cache& cache, Sequence sequence, const Tokens& tokens, const Happenings& may,
                  std::mt19937_64& random, Workspace& workspace);

}  // namespace tamis::testing
