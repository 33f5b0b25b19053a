// How sparse attention is, row by row: figures of every (head, query). Definitions:
// docs/profile.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tamis/attention.h>
#include <tamis/export.h>
#include <tamis/kv.h>
#include <tamis/progress.h>
#include <tamis/view.h>
#include <tamis/workspace.h>

namespace tamis::lab {

struct RowOptions {
  std::vector<double> eps{0.01, 0.05};  ///< of k_eps: each in 0 … 1, neither of both
  std::int64_t sinks = 1;               ///< tokens at the start whose mass is reported, ≥ 0
  std::vector<std::int64_t> windows{64, 256, 1024};  ///< mass within the last w tokens, each ≥ 1
};

/// Figures of every row of a call; row h·queries + i is query i of head h. p is the row's softmax,
/// over the n keys that the query sees. A row that sees no key has n = 0 and zeros. They are those
/// of the f32 logits; docs/profile.md says how far that is from exact attention.
struct RowFigures {
  std::int64_t rows = 0;
  std::vector<double> eps;
  std::int64_t sinks = 0;
  std::vector<std::int64_t> windows;
  std::vector<std::int64_t> grid;  ///< 1, 2, 3, 4, 6, 8, 12, … as far as the longest row goes

  std::vector<std::int64_t> n;      ///< keys seen
  std::vector<std::int64_t> k_eps;  ///< rows × eps: the fewest keys that hold mass 1 − eps
  std::vector<std::int64_t>
      w_eps;  ///< rows × eps: the least w whose last w keys, with the sinks, hold 1 − eps
  std::vector<double> curve;    ///< rows × grid: mass of the grid[g] heaviest keys; 1 from n on
  std::vector<double> top1;     ///< mass of the heaviest key
  std::vector<double> entropy;  ///< H = −Σ p log p, in nats
  std::vector<double> sink;     ///< mass of the first `sinks` tokens
  std::vector<double> window;   ///< rows × windows: mass of the last w keys
  std::vector<double> mean;     ///< of the logits of the keys seen, in nats
  std::vector<double> sigma;    ///< their standard deviation (divided by n), in nats
  /// rows × eps: what k_eps would be, in the median, for n i.i.d. Gaussian logits of deviation
  /// sigma. `profile` fills it in, `row_figures` leaves it empty.
  std::vector<double> null;

  [[nodiscard]] std::span<const std::int64_t> k_eps_of(std::int64_t row) const {
    return std::span(k_eps).subspan(static_cast<std::size_t>(row) * eps.size(), eps.size());
  }
  [[nodiscard]] std::span<const double> curve_of(std::int64_t row) const {
    return std::span(curve).subspan(static_cast<std::size_t>(row) * grid.size(), grid.size());
  }
};

/// k_eps is the fewest keys whose dropped mass is at most eps·(1 + eps_slack): so small a slack
/// matters only where weights are equal and eps·n is whole, which eps as a double may miss by its
/// last digit.
inline constexpr double eps_slack = 0x1p-40;

/// Figures of every row. Arguments as for `dense`; values are not read, and kv[h].v may be null.
/// Throws `input` naming the row if a key it sees, or its query, gives a logit that is not finite.
///
/// Works on 2 to 4 tiles of rows of a KV head at a time, a tile being 16 rows on AVX2 and 32 on
/// AVX-512, and reads K once for all of them: 4 tiles while their logits fit 2 MiB (up to 8,160
/// keys on AVX2, 4,064 on AVX-512), 2 for long rows. The time is below twice that of `dense` over
/// the same queries and keys. Scratch in the workspace: a float per key and row, and about 10 bytes
/// per key: for long rows 140 bytes per key and thread on AVX2, 270 on AVX-512; no n × n array.
/// Allocates the result. Safe to call concurrently, each with its own Workspace. Same bits for any
/// number of threads.
[[nodiscard]] TAMIS_API RowFigures row_figures(const Shape& shape, View<const float> q,
                                               std::span<const KvPages> kv,
                                               std::span<const std::int64_t> seen,
                                               const RowOptions& options, Workspace& workspace,
                                               const ProgressCallback& progress = {});

}  // namespace tamis::lab
