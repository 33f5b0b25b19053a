// Times decode steps in turns: dense attention over pages in bf16, and sparse attention over the
// cache. Each step finds its keys and values in memory rather than in the CPU's caches, and its
// queries are new.
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
  std::vector<double> dense_ms;  ///< of each step over all sequences
  std::vector<double> sparse_ms;
  double prompt_us = 0;  ///< per token of a prompt that is appended in large pieces
  double append_us = 0;  ///< per token that is appended alone, coding of blocks included
  std::vector<tamis::Certificate> certificates;  ///< of all rows and steps
  std::vector<double> byte_shares;      ///< bytes read / dense bytes in bf16, per KV head and step
  std::vector<double> relative_errors;  ///< of checked rows: ‖out − exact‖ / ‖exact‖
  std::int64_t violations = 0;          ///< checked rows that exceed their certificate
  std::size_t cache_bytes = 0;
  double cache_share = 0;  ///< cache_bytes divided by keys and values in bf16
};

/// Stages of the progress. Their units of work are a token of a KV head and a step.
enum BenchStage : std::size_t { bench_append, bench_steps };

Measured measure(const BenchShape& shape, const BenchData& data, const BenchSettings& settings,
                 Workspace& workspace, Progress& progress);

}  // namespace tamis::cli
