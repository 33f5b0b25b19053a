#include "sieve/testing.h"

#include <algorithm>
#include <cmath>

#include "sieve/dense/stored_pages.h"

namespace tamis::sieve {
namespace {

/// Calls use(index in the block, position) for the tokens of a block that some row sees and that
/// are not raw.
template <class Use>
void for_each_coded(const Problem& problem, std::int64_t b, Use use) {
  const cache::CodedBlock& coded = problem.coded(b);
  const auto& raw = problem.block(b).head().raw;
  for (std::int64_t j = 0; j < std::min<std::int64_t>(coded.tokens, problem.seen - coded.first);
       ++j)
    if (!cache::in_mask(raw, j)) use(j, coded.first + j);
}

/// Calls use(index among raw tokens, position) for the raw tokens that some row sees.
template <class Use>
void for_each_raw(const Problem& problem, Use use) {
  std::int64_t at = 0;
  for (const cache::RawRun& run : problem.sequence.raw)
    for (std::int64_t i = 0; i < seen_of(run, problem.seen); ++i)
      use(at++, run.first + (run.place != nullptr ? run.place[i] : i));
}

}  // namespace

void tell_block(const Problem& problem, std::int64_t b, const float* weight) {
  for (int r = 0; r < problem.rows; ++r)
    if (double* told = problem.told[static_cast<std::size_t>(r)]; told != nullptr)
      for_each_coded(problem, b, [&](std::int64_t j, std::int64_t position) {
        told[position] = static_cast<double>(weight[r * page_tokens + j]);
      });
}

void tell_raw(const Problem& problem, const float* weight, std::int64_t stride) {
  for (int r = 0; r < problem.rows; ++r)
    if (double* told = problem.told[static_cast<std::size_t>(r)]; told != nullptr)
      for_each_raw(problem, [&](std::int64_t i, std::int64_t position) {
        told[position] = static_cast<double>(weight[r * stride + i]);
      });
}

void tell_references(const Problem& problem, const Look& look, const RawResult& raw,
                     std::span<const double> reference) {
  for (int r = 0; r < problem.rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    double* told = problem.told[row];
    if (told == nullptr) continue;
    // If the row has no weight on raw tokens, their reference has no meaning.
    const double raw_factor =
        raw.row[row].used > 0 ? std::exp2(raw.row[row].reference - reference[row]) : 0;
    for_each_raw(problem,
                 [&](std::int64_t, std::int64_t position) { told[position] *= raw_factor; });
    for (std::int64_t b = 0; b < problem.blocks; ++b) {
      const double factor = std::exp2(look.reference_of(b / span_blocks, r) - reference[row]);
      for_each_coded(problem, b,
                     [&](std::int64_t, std::int64_t position) { told[position] *= factor; });
    }
  }
}

}  // namespace tamis::sieve
