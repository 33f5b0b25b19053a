// The one list of attention cases. Every path that computes attention runs all of them: each SIMD
// target through the C++ API and the C ABI, and whatever engine comes later.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <tamis/attention.h>

#include "support/certificates/kinds.h"

namespace tamis::testing {

struct Case {
  Shape shape;
  std::int64_t tokens = 1;
  Kind kind = Kind::normal;
  bool causal = false;       ///< the queries are the last ones of the text; otherwise all see all
  bool masked = false;       ///< seen counts are drawn, the first being 0
  bool padded_rows = false;  ///< rows of a page lie further apart than their length
  bool ragged = false;       ///< each KV head has 300 tokens fewer than the one before
  std::int64_t hidden = 0;   ///< tokens at the end that no query sees
  std::uint64_t seed = 0;    ///< other numbers for the same case
};

std::ostream& operator<<(std::ostream& out, const Case& c);
std::string name(const Case& c);

/// Head sizes 1 … 256 and odd ones, n from 0 over several pages, groups 1, 3, 4, 8, all dtypes, …
std::vector<Case> attention_cases();

/// A case's numbers, drawn from a stream keyed by the case itself, in pages of their own.
class Problem {
 public:
  explicit Problem(const Case& c);

  const Shape& shape() const { return shape_; }
  View<const float> q() const { return {numbers_.q.data(), shape_.rows(), shape_.head_dim}; }
  std::span<const KvPages> kv() const { return heads_; }
  std::span<const std::int64_t> seen() const { return seen_; }
  std::int64_t seen_by(std::int64_t row) const;
  /// The bound of docs/rounding.md for a row, from its own norms.
  Rounding bound(std::int64_t row) const;

 private:
  double largest_norm(const std::vector<float>& rows, std::int64_t dim, std::int64_t head,
                      std::int64_t keys) const;

  Shape shape_;
  std::int64_t tokens_;
  Numbers numbers_;
  std::vector<std::unique_ptr<std::byte[]>> pages_;
  std::vector<const void*> table_;
  std::vector<KvPages> heads_;
  std::vector<std::int64_t> seen_;
};

struct Answer {
  std::vector<double> out;
  std::vector<double> lse;
};
Answer reference_answer(const Problem& problem);

/// Fails unless every row of (out, lse) is within its bound of the reference.
void expect_within_bound(const Problem& problem, const Answer& reference,
                         std::span<const float> out, std::span<const float> lse);

}  // namespace tamis::testing
