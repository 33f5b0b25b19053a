// A layer of a trace replayed as decode: its queries one after the other, all heads of a query together,
// over an index of the whole layer.
#pragma once

#include <vector>

#include <tamis/sieve.h>

#include "attend/result.h"
#include "terminal/progress.h"

namespace tamis::cli {

/// What one step computes: query i of every head.
struct StepResult {
  explicit StepResult(const Shape& shape)
      : out(static_cast<std::size_t>(shape.query_heads * shape.value_dim)),
        lse(static_cast<std::size_t>(shape.query_heads)),
        certificates(static_cast<std::size_t>(shape.query_heads)) {}

  std::vector<float> out;  ///< heads × value_dim
  std::vector<float> lse;
  std::vector<Certificate> certificates;
};

/// Refers to the trace and its data. Steps are independent: any of them may be taken again.
class Replay {
 public:
  /// Builds the index, which reads K and V once.
  Replay(const Trace& trace, const TraceLayer& layer, const LayerData& data, std::vector<Budget> budgets,
         bool ladder, Workspace& workspace, Progress& progress);

  /// Every query. Time is that of `attend` alone.
  LayerResult run(Workspace& workspace, Progress& progress) const;
  /// `weights`, unless empty, is heads × tokens at least and receives the weights used.
  void step(std::int64_t query, View<float> weights, Workspace& workspace, StepResult& result) const;

 private:
  const Trace& trace_;
  const TraceLayer layer_;
  const LayerData& data_;
  std::vector<Budget> budgets_;
  bool ladder_;
  PageTables pages_;
  Index index_;
  double index_seconds_ = 0;
};

}  // namespace tamis::cli
