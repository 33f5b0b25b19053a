// Decode steps timed: dense attention over pages in bf16 and sparse attention over the cache, in
// turns, each finding its keys and values in memory and its queries new.
#pragma once

#include <array>
#include <vector>

#include <tamis/attend.h>

#include "bench/data.h"
#include "terminal/progress.h"

namespace tamis::cli {

struct BenchSettings {
  int bits = 12;
  Budget budget;
  AttendOptions attend;
};

struct Measured {
  std::vector<double> dense_ms;  ///< of each step, all sequences
  std::vector<double> sparse_ms;
  double prompt_us = 0;  ///< per token of a prompt appended in large pieces
  double append_us = 0;  ///< per token appended alone, the coding of blocks included
  std::vector<tamis::Certificate> certificates;  ///< of all rows of all steps
  std::vector<double> byte_shares;      ///< of dense in bf16, by KV head, sequence and step
  std::vector<double> relative_errors;  ///< of some rows: distance from f64 attention by its norm
  std::int64_t violations = 0;  ///< of these rows, whose error or lse is not what was certified
  std::size_t cache_bytes = 0;
  double cache_share = 0;  ///< of keys and values in bf16
};

/// Stages of the progress, in units of a token of a KV head, and of a step.
enum BenchStage : std::size_t { bench_append, bench_steps };

Measured measure(const BenchShape& shape, const BenchData& data, const BenchSettings& settings,
                 Workspace& workspace, Progress& progress);

}  // namespace tamis::cli
