// Attention over everything that a sequence stores. It is used for many rows, for short sequences,
// and where the bounds of sparse attention would be too wide. The arithmetic is that of
// <tamis/attention.h>, page by page: a sequence of raw tokens alone gives the same bits as `dense`.
// Costs decoding every block once for up to 128 rows, and rows·tokens·(d + d_v) multiply-adds.
#pragma once

#include <cstdint>
#include <span>

#include <tamis/attend.h>
#include <tamis/view.h>

#include "cache/view.h"
#include "kernels/kernels.h"

namespace tamis::sieve {

/// Some rows of one KV head of a sequence.
struct DenseItem {
  const kernels::Kernels& kernels;
  const Heads& heads;
  const cache::Layout& layout;
  const cache::SequenceView& sequence;
  DType dtype;                         ///< of raw tokens
  std::int64_t head;                   ///< KV head
  View<const float> query;             ///< rows × key_dim, as the caller gave them
  std::span<const std::int64_t> seen;  ///< row r sees tokens 0 … seen[r] − 1
  Dense why;                           ///< for the certificates
  /// How many rows the KV head of the sequence has in the whole call, if the item holds only some
  /// of them. It decides whether rows are worked on in tiles.
  std::int64_t all_rows = 0;
};

/// Floats of scratch memory that attend_dense() needs.
std::int64_t dense_scratch(const DenseItem& item);
/// Writes rows × value_dim outputs and one log-sum-exp per row. `certificates` has one element per
/// row, or is empty; their `reached` is `not_finite` or `met`, and the caller must replace `met` by
/// the result of reached_by(). Allocates nothing.
void attend_dense(const DenseItem& item, float* scratch, View<float> out, std::span<float> lse,
                  std::span<Certificate> certificates);

}  // namespace tamis::sieve
