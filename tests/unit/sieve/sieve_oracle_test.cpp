// The oracle is as exact as it claims.
#include <gtest/gtest.h>

#include <cmath>

#include "support/cases.h"
#include "support/oracle.h"

namespace tamis::test {
namespace {

TEST(SieveOracle, AgreesWithTheReferenceWithinItsSlack) {
  for (const Case& c : attention_cases()) {
    if (c.shape.rows() > 20 || c.tokens == 0) continue;
    const Problem problem(c);
    const Oracle oracle(problem.shape(), problem.q(), problem.kv(), problem.seen());
    const Answer reference = reference_answer(problem);
    for (std::int64_t r = 0; r < oracle.rows(); ++r) {
      const ExactRow& row = oracle[r];
      if (row.weights.empty()) continue;
      // The reference sums d products in f64, not in long double, so its logits and the weights
      // and outputs made of them are 2¹¹ times less exact.
      double squares = 0;
      for (std::size_t i = 0; i < row.out.size(); ++i)
        squares += std::pow(
            row.out[i] - reference.out[static_cast<std::size_t>(r) * row.out.size() + i], 2);
      ASSERT_LE(std::sqrt(squares), 4096 * row.error_slack) << name(c) << " row " << r;
      const auto lse = static_cast<double>(row.lse) - reference.lse[static_cast<std::size_t>(r)];
      ASSERT_LE(std::abs(lse), 4096 * row.lse_slack) << name(c) << " row " << r;
      ASSERT_LT(row.tau_slack, 1e-9) << name(c) << " row " << r;
    }
  }
}

}  // namespace
}  // namespace tamis::test
