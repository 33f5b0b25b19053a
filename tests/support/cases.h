// The one list of attention cases. Every path that computes attention runs all of them: each SIMD
// target through the C++ API and the C ABI, and whatever engine comes later.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <tamis/attention.h>

namespace tamis::testing {

/// How the numbers of a case are drawn.
enum class Kind {
  normal,       ///< N(0, 1)
  huge_logits,  ///< logits of ±10⁴
  denormals,  ///< keys and values in the denormal range of the dtype, queries so large that logits are not
  ties,       ///< all keys equal
  one_hot,    ///< one key far above the rest
  outliers,   ///< some channels 100 times larger, a first key of huge norm
  zero_queries,  ///< q = 0: uniform weights
};

struct Case {
  Shape shape;
  std::int64_t tokens = 1;
  Kind kind = Kind::normal;
  bool causal = false;       ///< the queries are the last ones of the text; otherwise all see all
  bool masked = false;       ///< seen counts are drawn, the first being 0
  bool padded_rows = false;  ///< rows of a page lie further apart than their length
  bool ragged = false;       ///< each KV head has 300 tokens fewer than the one before
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
  View<const float> q() const { return {q_.data(), shape_.rows(), shape_.head_dim}; }
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
  std::vector<float> q_;
  std::vector<float> k_;  // as stored, per head and token
  std::vector<float> v_;
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
void expect_within_bound(const Problem& problem, const Answer& reference, std::span<const float> out,
                         std::span<const float> lse);

}  // namespace tamis::testing
