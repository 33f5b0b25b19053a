// The interface between the adversary and the engine that it attacks: anything that attends to one
// KV head and certifies its result. An engine provides a list of the ways in which it can be
// called; subject_planes.cpp provides that of the current engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/attention.h>
#include <tamis/workspace.h>

namespace tamis::test {

/// One KV head and some rows of queries, each of which sees all tokens.
struct Question {
  Shape shape;
  View<const float> q;
  std::span<const KvPages> kv;
  // Tokens that an engine must not code, if it supports such tokens.
  std::int64_t sinks = 0;  ///< number of them at the beginning
  std::int64_t tail = 0;   ///< number of them at the end
};

/// The errors that one row's certificate allows at most.
struct Claims {
  double tau = 0;
  double error = 0;
  double lse_error = 0;
  bool sparse = false;  ///< not everything was read
};

struct Certified {
  std::vector<float> out;
  std::vector<float> lse;
  /// rows × tokens, up to a common factor in each row; empty if the engine does not report weights
  std::vector<float> weights;
  std::vector<Claims> claims;  ///< one per row
};

/// One combination of a budget and a mode of an engine. `attend` returns nothing if the engine
/// refuses the question. It is called from many threads at once, each with its own workspace.
struct Way {
  std::string name;
  std::function<std::optional<Certified>(const Question&, Workspace&)> attend;
};

/// Every budget and mode of attention over a cache in planes, for all numbers of bits and for
/// looks at one and two planes. The sequences have random histories.
std::vector<Way> ways_of_planes();

}  // namespace tamis::test
