// The list of attention cases. Every path that computes attention runs all of them: each SIMD
// target through the C++ API and through the C ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <tamis/attention.h>

#include "support/certificates/kinds.h"

namespace tamis::test {

struct Case {
  Shape shape;
  std::int64_t tokens = 1;
  Kind kind = Kind::normal;
  bool causal = false;  ///< queries are the last tokens of the text; otherwise each sees all keys
  bool masked = false;  ///< the number of keys that a query sees is drawn, and 0 for the first
  bool padded_rows = false;  ///< the row stride of a page is larger than the row
  bool ragged = false;       ///< each KV head has 300 tokens fewer than the one before
  std::int64_t hidden = 0;   ///< tokens at the end that no query sees
  std::uint64_t seed = 0;    ///< varies the numbers of an otherwise equal case
};

std::ostream& operator<<(std::ostream& out, const Case& c);
std::string name(const Case& c);

/// Head sizes 1 … 256, 0 to 2500 tokens, query groups of 1 to 12, all three dtypes,
/// masks and kinds.
std::vector<Case> attention_cases();

/// The numbers of a case, drawn from a stream keyed by the case, and stored in separate pages.
class Problem {
 public:
  explicit Problem(const Case& c);

  const Shape& shape() const { return shape_; }
  View<const float> q() const { return {numbers_.q.data(), shape_.rows(), shape_.head_dim}; }
  std::span<const KvPages> kv() const { return heads_; }
  std::span<const std::int64_t> seen() const { return seen_; }
  std::int64_t seen_by(std::int64_t row) const;
  /// The bound of docs/rounding.md for a row, computed from the norms of this problem.
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

}  // namespace tamis::test
