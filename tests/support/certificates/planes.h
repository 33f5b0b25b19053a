// Runs attention over a cache in planes on test problems, and checks every claim of its
// certificates against the oracle and against the contents of the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tamis/attend.h>
#include <tamis/cache.h>

#include "support/cache/cache_history.h"
#include "support/cases.h"
#include "support/certificates/certificates.h"
#include "support/oracle.h"

namespace tamis::test {

/// A problem of cases.h, with its keys and values in a sequence of a cache that has a history.
class PlanesProblem {
 public:
  static constexpr Sequence sequence = 5;

  PlanesProblem(const Problem& problem, CacheOptions options, const Happenings& may,
                std::uint64_t seed);

  Shape shape;
  Cache cache;
  std::vector<std::int64_t> seen;  ///< number of keys that each query sees
  std::vector<float> q;            ///< queries × query heads × head_dim

 private:
  static Cache made(const Problem& problem, CacheOptions options);
  std::vector<std::byte> keys_, values_;
};

struct PlanesAsked {
  std::vector<Budget> budgets;  ///< one, or one for every query head
  AttendOptions options;
  DType queries = DType::f32;
  DType out = DType::f32;
};

/// Rows are ordered query by query: row (query i, head h) is i·query_heads + h.
struct PlanesResult {
  std::vector<float> out;
  std::vector<float> lse;
  std::vector<double> weights;  ///< rows × tokens
  std::int64_t tokens = 0;
  std::vector<tamis::Certificate> certificates;
};
bool same_bits(const PlanesResult& a, const PlanesResult& b);

PlanesResult run_planes(const PlanesProblem& problem, const PlanesAsked& asked,
                        Workspace& workspace);

/// Checks a result. The oracle's rows are ordered head by head, as everywhere else.
Report check_planes(const Oracle& oracle, const PlanesProblem& problem, const PlanesAsked& asked,
                    const PlanesResult& result);

/// Budgets of every kind, from almost nothing to all keys.
std::vector<Budget> planes_budgets();

}  // namespace tamis::test
