// What the adversary attacks: whatever attends to one KV head and certifies what it did. An engine
// takes part by a list of the ways in which it can be asked, nothing else of it is known; the
// present one's is in subject_planes.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/attention.h>
#include <tamis/workspace.h>

namespace tamis::testing {

/// One KV head and some rows of queries, each of which sees all tokens.
struct Question {
  Shape shape;
  View<const float> q;
  std::span<const KvPages> kv;
  // What an engine that codes keys is to leave as it is, if it knows of such tokens.
  std::int64_t sinks = 0;  ///< at the beginning
  std::int64_t tail = 0;   ///< at the end
};

/// What one row's result is said to be off by, at most.
struct Claims {
  double tau = 0;
  double error = 0;
  double lse_error = 0;
  bool sparse = false;  ///< not everything was read
};

struct Certified {
  std::vector<float> out;
  std::vector<float> lse;
  std::vector<float>
      weights;  ///< rows × tokens, up to a factor for each row; empty if they are not told
  std::vector<Claims> claims;  ///< one per row
};

/// A budget and a mode of an engine. Called from many threads at once, each with its own workspace.
struct Way {
  std::string name;
  std::function<std::optional<Certified>(const Question&, Workspace&)>
      attend;  ///< nothing: refused
};

/// Every budget and mode of attention over caches in planes that have lived through something: all
/// numbers of bits, looks of one and two planes.
std::vector<Way> ways_of_planes();

}  // namespace tamis::testing
