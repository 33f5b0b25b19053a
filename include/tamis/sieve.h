// Sparse attention that certifies what it leaves out.
#pragma once

#include <cstdint>
#include <span>

#include <tamis/attention.h>
#include <tamis/budget.h>
#include <tamis/certificate.h>
#include <tamis/export.h>
#include <tamis/index.h>
#include <tamis/kv.h>
#include <tamis/view.h>
#include <tamis/workspace.h>

namespace tamis {

/// Rows per KV head (queries times the query heads that share it) up to which `attend` reads sparsely.
inline constexpr std::int64_t sieve_rows = 16;

struct SieveOptions {
  /// Use what the coarse and middle meshes say about keys that are not read exactly. Off, such keys are
  /// dropped: the top-k attention of the papers.
  bool ladder = true;
  /// Queries that see fewer keys are computed densely: below it sparse reading does not pay.
  std::int64_t dense_below = 1024;
  /// A budget of mass is met as soon as possible: densely where a forecast says that this is sooner, and
  /// with thresholds that are quick to find. With `fewest_bytes`, by reading as little as possible.
  bool fewest_bytes = false;
  /// Whether a budget of mass is met densely where that is forecast to be sooner or to read less. Off, it
  /// is met sparsely wherever that is possible at all.
  bool forecast = true;
  /// For checks: if it has rows, row r receives the weight used for each key that row r sees, all
  /// divided by one number of the row's own. At least shape.rows() × the most keys seen.
  View<float> weights;
};

/// Attention of every query, reading only what the budget of its head needs.
///   q, kv, seen, out, lse   as for `dense`
///   budgets        one for all query heads, or one for each; heads that share a KV head need one kind
///   certificates   one per row
/// `index` must have been extended over `kv` (it may lag behind by whole blocks, which are then read
/// exactly). A query that sees no key has out = 0, lse = −inf and a certificate of zeros.
///
/// With more than `sieve_rows` rows per KV head every query is computed by `dense`, which then reads less
/// per query than a scan would.
///
/// Reads (d/2 + d/32 + 1) bytes of the index for every key seen, and d/2 more for a budget of mass without
/// `fewest_bytes`, then what the budget asks for. Allocates
/// nothing once the workspace has seen a call as large. Safe to call concurrently on one Index, each call
/// with its own Workspace. Same bits for any number of threads, and whatever the workspace did before.
/// Throws `usage` for arguments that do not fit together, an index of other tokens than those in `kv` among
/// them, `input` as `dense` does.
TAMIS_API void attend(const Index& index, const Shape& shape, View<const float> q,
                      std::span<const KvPages> kv, std::span<const std::int64_t> seen,
                      std::span<const Budget> budgets, const SieveOptions& options, Workspace& workspace,
                      View<float> out, std::span<float> lse, std::span<Certificate> certificates);

}  // namespace tamis
