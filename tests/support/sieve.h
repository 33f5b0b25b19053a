// Running sparse attention on test problems: one call, its results, and dense attention beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/sieve.h>

#include "support/cases.h"

namespace tamis::testing {

/// Everything that `attend` is given. Refers to memory that its maker keeps.
struct SieveCall {
  const Index* index = nullptr;
  Shape shape;
  View<const float> q;
  std::span<const KvPages> kv;
  std::span<const std::int64_t> seen;
  std::span<const Budget> budgets;
  bool ladder = true;
  std::int64_t dense_below = 0;
  bool forecast = true;
  bool fewest_bytes = true;  ///< most checks are about what is read, not about when that pays

  /// The same, met as soon as possible and never densely because that were sooner: budgets of mass by a
  /// direct scan.
  [[nodiscard]] SieveCall directly() const {
    SieveCall call = *this;
    call.fewest_bytes = call.forecast = false;
    return call;
  }
  [[nodiscard]] std::int64_t rows_per_head() const { return shape.group() * shape.queries; }
  [[nodiscard]] const Budget& budget(std::int64_t row) const {
    return budgets[budgets.size() == 1 ? 0 : static_cast<std::size_t>(row / shape.queries)];
  }
};

struct SieveResult {
  std::vector<float> out;
  std::vector<float> lse;
  std::vector<float> weights;  ///< rows × `keys`, or empty
  std::int64_t keys = 0;
  std::vector<Certificate> certificates;
};
/// Every bit the same, the weights aside.
bool same_bits(const SieveResult& a, const SieveResult& b);

struct DenseResult {
  std::vector<float> out;
  std::vector<float> lse;
};

/// Nothing, if attention refuses the numbers with `input`; other errors pass.
std::optional<SieveResult> run_attend(const SieveCall& call, Workspace& workspace, bool weights = true);
std::optional<DenseResult> run_dense(const SieveCall& call, Workspace& workspace);

/// A case of attention with the index it is to be read through.
struct SieveCase {
  Case attention;
  std::int64_t sinks = 4;
  bool values = true;
  std::int64_t lag = 0;  ///< tokens at the end that the index has not been given
};
std::string name(const SieveCase& c);

/// All kinds of numbers in all dtypes, head sizes from 1 to 256 and values of other sizes, groups of 1, 3,
/// 4 and 8 with 1 to 4 queries (up to 32 rows per KV head), prefixes, indexes that lag or lack values,
/// sinks.
std::vector<SieveCase> sieve_cases();
/// Every kind of budget, from almost nothing to everything.
std::vector<Budget> sieve_budgets();

/// Page tables that end `lag` tokens earlier.
std::vector<KvPages> without_last(std::span<const KvPages> kv, std::int64_t lag);
/// The index of a case, built in one go.
Index index_of(const SieveCase& c, const Problem& problem);
/// A call over all of a problem.
SieveCall call_of(const Index& index, const Problem& problem, std::span<const Budget> budgets);

}  // namespace tamis::testing
