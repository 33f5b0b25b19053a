// From a call to the step of one KV head: what its rows see and may read, and where its arrays lie.
#pragma once

#include "sieve/step.h"

namespace tamis {

struct Caller {
  const DenseCall& call;
  const Index::Impl& index;
  std::span<const Budget> budgets;
  const SieveOptions& options;
  Workspace& workspace;
  View<float> out;
  std::span<float> lse;
  std::span<Certificate> certificates;
};

/// The step of a KV head: its rows, blocks and pinned keys. `dense` is set where there is nothing to
/// choose.
Step step_of(const Caller& caller, std::int64_t head);
/// Floats of memory that its arrays need: none if it is dense.
std::int64_t floats_of(const Step& step);
/// Gives them their places in memory and returns where it goes on.
float* lay_out(Step& step, float* memory);
/// Fills q and q_dense with the scaled queries, and the rows' norms.
void scale_queries(const Caller& caller, Step& step);

}  // namespace tamis
