// Attention over a cache in planes, run on test problems, and every claim of its certificates
// checked against the oracle and against what the cache stores.
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

namespace tamis::testing {

/// A sequence of a cache and the queries that are asked about it: those of a problem of cases.h.
class PlanesProblem {
 public:
  static constexpr Sequence sequence = 5;

  PlanesProblem(const Problem& problem, CacheOptions options, const Happenings& may,
                std::uint64_t seed);

  Shape shape;
  Cache cache;
  std::vector<std::int64_t> seen;  ///< by every query
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

/// Rows are query by query here: row (query i, head h) is i·query_heads + h.
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

/// The oracle's rows are head by head, as always.
Report check_planes(const Oracle& oracle, const PlanesProblem& problem, const PlanesAsked& asked,
                    const PlanesResult& result);

/// Budgets of every kind, from almost nothing to everything.
std::vector<Budget> planes_budgets();

}  // namespace tamis::testing
