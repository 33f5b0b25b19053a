// How sparse attention is, row by row: figures for every (head, query) pair. docs/profile.md
// has the definitions.
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
  /// The values of eps for k_eps and w_eps, each between 0 and 1, both excluded.
  std::vector<double> eps{0.01, 0.05};
  std::int64_t sinks = 1;  ///< number of first tokens whose mass is reported, ≥ 0
  /// Window widths w, each ≥ 1; the mass of the last w keys is reported for each.
  std::vector<std::int64_t> windows{64, 256, 1024};
};

/// The figures of every row of a call. Row h·queries + i is query i of head h. p is the
/// row's softmax over the n keys that the query sees. A row that sees no key has n = 0 and
/// zeros. The figures are those of the f32 logits; docs/profile.md says how far these are
/// from exact attention.
struct RowFigures {
  std::int64_t rows = 0;
  std::vector<double> eps;
  std::int64_t sinks = 0;
  std::vector<std::int64_t> windows;
  std::vector<std::int64_t> grid;  ///< 1, 2, 3, 4, 6, 8, 12, … up to the longest row's n

  std::vector<std::int64_t> n;      ///< keys seen
  std::vector<std::int64_t> k_eps;  ///< rows × eps: the fewest keys that hold mass 1 − eps
  /// Rows × eps: the least w such that the last w keys and the first `sinks` keys together hold
  /// mass 1 − eps.
  std::vector<std::int64_t> w_eps;
  /// Rows × grid: mass of the grid[g] heaviest keys; 1 where grid[g] ≥ n.
  std::vector<double> curve;
  std::vector<double> top1;     ///< mass of the heaviest key
  std::vector<double> entropy;  ///< H = −Σ p log p, in nats
  std::vector<double> sink;     ///< mass of the first `sinks` tokens
  std::vector<double> window;   ///< rows × windows: mass of the last w keys
  std::vector<double> mean;     ///< mean of the logits of the keys seen, in nats
  std::vector<double> sigma;    ///< their population standard deviation (divisor n), in nats
  /// Rows × eps: the median of k_eps for n i.i.d. Gaussian logits with standard deviation sigma.
  /// `profile` fills it in; `row_figures` leaves it empty.
  std::vector<double> null;

  [[nodiscard]] std::span<const std::int64_t> k_eps_of(std::int64_t row) const {
    return std::span(k_eps).subspan(static_cast<std::size_t>(row) * eps.size(), eps.size());
  }
  [[nodiscard]] std::span<const double> curve_of(std::int64_t row) const {
    return std::span(curve).subspan(static_cast<std::size_t>(row) * grid.size(), grid.size());
  }
};

/// k_eps is the fewest keys that can be kept such that the dropped mass is at most eps·(1 +
/// eps_slack). So small a slack matters only where weights are equal and eps·n is a whole number,
/// which eps as a double may miss by its last digit.
inline constexpr double eps_slack = 0x1p-40;

/// Computes the figures of every row. The arguments are as for `dense`; values are not read, and
/// kv[h].v may be null. Throws `input`, naming the row, if a logit of a key that the row sees is
/// not finite, `usage` for options out of range, `cancelled` if `progress` asks to stop.
///
/// A work item is 2 to 4 tiles of rows of one KV head, and K is read once for all of them. A tile
/// is 16 rows on AVX2 and 32 on AVX-512. Four tiles are used while their logits fit 2 MiB (up to
/// 8,160 keys on AVX2, 4,064 on AVX-512), two for long rows. The time is below twice that of
/// `dense` over the same queries and keys. The workspace holds a float per key and row, and about
/// 10 bytes per key: for long rows 140 bytes per key and thread on AVX2, 270 on AVX-512. There is
/// no n × n array. Allocates the result. Safe to call concurrently, each call with its own
/// Workspace. Same bits for any number of threads.
[[nodiscard]] TAMIS_API RowFigures row_figures(const Shape& shape, View<const float> q,
                                               std::span<const KvPages> kv,
                                               std::span<const std::int64_t> seen,
                                               const RowOptions& options, Workspace& workspace,
                                               const ProgressCallback& progress = {});

}  // namespace tamis::lab
