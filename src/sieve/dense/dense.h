// Attention over everything that a sequence stores: for many rows, for short sequences, and where
// sparse reading would say nothing. The arithmetic is that of <tamis/attention.h>, page by page; a
// sequence of raw tokens alone gets the bits of `dense`. Costs decoding every block once for up to
// 128 rows, and rows·tokens·(d + d_v) multiply-adds.
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
  Dense why;
  /// Rows of the KV head in the call, where the item has some of them only: whether rows go in
  /// tiles depends on it.
  std::int64_t all_rows = 0;
};

/// Floats of scratch.
std::int64_t dense_scratch(const DenseItem& item);
/// out: rows × value_dim. Certificates: one per row, or none; `reached` is `met` or `not_finite`,
/// see reached_by. Allocates nothing.
void attend_dense(const DenseItem& item, float* scratch, View<float> out, std::span<float> lse,
                  std::span<Certificate> certificates);

/// What a row is whose numbers are finite and whose certificate says how much was read, by whatever
/// way.
Reached reached_by(const Budget& budget, const Certificate& certificate);

}  // namespace tamis::sieve
