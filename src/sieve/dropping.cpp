#include "sieve/dropping.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"
#include "sieve/error_model.h"
#include "sieve/testing.h"
#include "sieve/values.h"

namespace tamis::sieve {

namespace {

/// How many coded keys a row may use.
std::int64_t keys_of(const Row& row) {
  const Budget& budget = *row.budget;
  switch (budget.kind) {
    case Budget::Kind::topk:
      return budget.k;
    case Budget::Kind::power: {
      const double k =
          std::ceil(budget.alpha * std::pow(static_cast<double>(row.seen), budget.exponent));
      return static_cast<std::int64_t>(std::min(k, 0x1p60));
    }
    case Budget::Kind::mass:
    case Budget::Kind::bytes:
    case Budget::Kind::window:
      break;
  }
  core::fail(Code::internal, "this kind of budget does not limit how many keys are used");
}

double largest_reference(const Problem& problem, const Look& look, int r) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t span = 0; span < problem.spans(); ++span)
    most = std::max(most, look.reference_of(span, r));
  return most;
}

/// Converts a number from the units of block b's span to those of the row.
float in_row(const Look& look, std::int64_t b, int r, double reference, double x) {
  return static_cast<float>(x * std::exp2(look.reference_of(b / span_blocks, r) - reference));
}

/// Returns the k-th largest of `count` numbers and reorders them. The result is 0 if there are
/// fewer than k numbers, and infinity for k < 1.
float kth_largest(float* x, std::int64_t count, std::int64_t k) {
  if (k > count) return 0.0F;
  if (k < 1) return std::numeric_limits<float>::infinity();
  std::nth_element(x, x + (k - 1), x + count, std::greater<>());
  return x[k - 1];
}

/// Returns for each row a lower bound on the weight of its k-th heaviest key, in the units of the
/// row. Keys whose upper bound is below it are not among the k heaviest.
PerRow least_kept(const Problem& problem, const Look& look,
                  const std::array<double, most_rows>& reference, float* memory) {
  PerRow least{};
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    std::int64_t n = 0;
    for (std::int64_t b = 0; b < problem.blocks; ++b) {
      const double down = 1 / (1 + static_cast<double>(look.at(b, r).psi[0]));
      const float factor = in_row(look, b, r, reference[i], down);
      for (std::int64_t j = 0; j < page_tokens; ++j)
        if (const float weight = look.weights(b, r)[j]; weight > 0) memory[n++] = weight * factor;
    }
    least[i] = kth_largest(memory, n, keys_of(problem.row[i]));
  }
  return least;
}

/// Returns whether a position is in the window of a row.
bool in_window(const Row& row, std::int64_t position) {
  return position < row.budget->sinks || position >= row.seen - row.budget->window;
}

/// The weights of the keys of a block that are used, and for each row an upper bound on the sum of
/// the weights of the others.
struct Kept {
  Sharpened keys;
  std::array<double, most_rows> dropped{};
};

/// Adds the used keys of a block and the bounds on those left out to the visit of its span. For a
/// key that is left out, the distance of its value from the output is at most the block's radius
/// plus the distance of the block's mean from the output.
void add_block(const Problem& problem, std::int64_t b, const Kept& kept, float* scratch,
               const Visits& visits) {
  const cache::HeadBlock block = problem.block(b);
  const cache::BlockHead& head = block.head();
  const std::int64_t span = b / span_blocks;
  const PerRow everything{};
  if (problem.told[0] != nullptr) tell_block(problem, b, kept.keys.weight);
  const ValuesRead values = add_values(problem, block, kept.keys, problem.coded(b).levels,
                                       everything, false, scratch, visits.out_of(span, 0));
  const double radius = static_cast<double>(head.value_radius);
  const double reach =
      radius + 2 * static_cast<double>(*std::ranges::max_element(head.value_missing));
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    Partial& sum = visits.at(span, r);
    sum.used += kept.keys.used[i];
    sum.spread += kept.keys.spread[i];
    sum.dropped += kept.dropped[i];
    sum.product += kept.keys.spread[i] * reach + kept.dropped[i] * radius + values.product[i];
    sum.vanished += static_cast<double>(page_tokens) * vanished_per_key;
    visits.spread_of(b, r) =
        static_cast<float>((kept.keys.spread[i] + kept.dropped[i]) * (1 + 0x1p-22));
  }
  visits.reads[span] += {kept.keys.key_rows, values.value_rows};
}

bool is_deepest(const Sharpened& sharp, std::int64_t j) {
  return (sharp.deepest[static_cast<std::size_t>(j / 32)] >> (j % 32) & 1U) != 0;
}

/// Keeps the keys of a block that were read to the last level, if keep(r, weight) is true for them.
template <class Keep>
Kept keep_some(const Problem& problem, const Look& look, std::int64_t b, const Sharpened& sharp,
               float* weight, Keep keep) {
  Kept kept{{weight}, {}};
  kept.keys.key_rows = sharp.key_rows;
  const auto last = static_cast<std::size_t>(problem.coded(b).levels - 1);
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    double used = 0;
    for (std::int64_t j = 0; j < page_tokens; ++j) {
      float& w = weight[r * page_tokens + j];
      w = is_deepest(sharp, j) ? sharp.weight[r * page_tokens + j] : 0.0F;
      if (w > 0 && !keep(r, w)) w = 0;
      used += static_cast<double>(w);
    }
    kept.keys.used[i] = used;
    const auto psi = static_cast<double>(look.at(b, r).psi[last]);
    kept.keys.spread[i] = used > 0 ? psi * used : 0;
    // The difference may be smaller than the rounding of the sums in `all`, so a bound on that
    // rounding is added.
    const double all = sharp.used[i] + sharp.spread[i];
    kept.dropped[i] = std::max(0.0, all - kept.keys.used[i] - kept.keys.spread[i]) +
                      gamma(2.0 * page_tokens) * all;
  }
  return kept;
}

void begin(const Problem& problem, const Look& look, const Visits& visits) {
  for (std::int64_t span = 0; span < problem.spans(); ++span) {
    visits.reads[span] = {};
    for (int r = 0; r < problem.rows; ++r) {
      visits.at(span, r) = {};
      visits.at(span, r).reference = look.reference_of(span, r);
    }
    std::fill_n(visits.out_of(span, 0), problem.rows * visits.value_d32, 0.0F);
  }
}

void visit_window(const Problem& problem, const Look& look, float* memory, float* scratch,
                  const Visits& visits) {
  float* kept_weight = memory;
  const Limits everything{};
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    const std::int64_t first = problem.coded(b).first;
    // Adds up the estimates of the look outside the window, then reads the keys of the window to
    // their last level.
    std::array<double, most_rows> outside{};
    for (int r = 0; r < problem.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      for (std::int64_t j = 0; j < page_tokens; ++j) {
        float& weight = look.weights(b, r)[j];
        if (weight > 0 && in_window(problem.row[i], first + j)) continue;
        outside[i] += static_cast<double>(weight);
        weight = 0;
      }
      if (outside[i] > 0) outside[i] *= 1 + static_cast<double>(look.at(b, r).psi[0]);
    }
    const Sharpened sharp =
        sharpen_block(problem, problem.block(b), b, look, look.weights(b, 0), everything, scratch);
    Kept kept = keep_some(problem, look, b, sharp, kept_weight, [](int, float) { return true; });
    kept.dropped = outside;
    add_block(problem, b, kept, scratch + sharpen_scratch(problem), visits);
  }
}

void visit_heaviest(const Problem& problem, const Look& look, float* memory, float* scratch,
                    const Visits& visits) {
  float* kept_weight = memory;
  float* numbers = memory + problem.rows * page_tokens;
  auto* sharpened = reinterpret_cast<Sharpened*>(numbers + problem.blocks * page_tokens);
  std::array<double, most_rows> reference{};
  for (int r = 0; r < problem.rows; ++r)
    reference[static_cast<std::size_t>(r)] = largest_reference(problem, look, r);
  const PerRow least = least_kept(problem, look, reference, numbers);

  // A key is read deeper as long as it may be among the k heaviest.
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    Limits limits{};
    for (std::size_t l = 0; l + 1 < static_cast<std::size_t>(problem.coded(b).levels); ++l)
      for (int r = 0; r < problem.rows; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const double up = 1 + static_cast<double>(look.at(b, r).psi[l]);
        const double octaves = reference[i] - look.reference_of(b / span_blocks, r);
        // The factor lowers the limit a little, because it is rounded and a key at the limit counts
        // as one of the heaviest.
        limits[l][i] =
            static_cast<float>(std::min(static_cast<double>(least[i]) / up *
                                            std::exp2(std::min(octaves, 200.0)) * (1 - 0x1p-20),
                                        0x1p126));
      }
    sharpened[b] =
        sharpen_block(problem, problem.block(b), b, look, look.weights(b, 0), limits, scratch);
    // A key that was not read to the last level is not among the k heaviest.
    for (int r = 0; r < problem.rows; ++r)
      for (std::int64_t j = 0; j < page_tokens; ++j)
        look.weights(b, r)[j] =
            is_deepest(sharpened[b], j) ? sharpened[b].weight[r * page_tokens + j] : 0.0F;
    sharpened[b].weight = look.weights(b, 0);
  }
  // Of the remaining keys, the k heaviest by their last estimate are used. Among equal ones the
  // earlier keys come first.
  PerRow least_used{};
  std::array<std::int64_t, most_rows> of_equal{};
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    std::int64_t n = 0;
    for (std::int64_t b = 0; b < problem.blocks; ++b)
      for (std::int64_t j = 0; j < page_tokens; ++j)
        if (const float w = look.weights(b, r)[j]; w > 0)
          numbers[n++] = in_row(look, b, r, reference[i], static_cast<double>(w));
    const std::int64_t k = keys_of(problem.row[i]);
    least_used[i] = kth_largest(numbers, n, k);
    of_equal[i] =
        k - std::count_if(numbers, numbers + n, [&](float x) { return x > least_used[i]; });
  }
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    const Kept kept = keep_some(problem, look, b, sharpened[b], kept_weight, [&](int r, float w) {
      const auto i = static_cast<std::size_t>(r);
      const float x = in_row(look, b, r, reference[i], static_cast<double>(w));
      return x > least_used[i] || (x == least_used[i] && of_equal[i]-- > 0);
    });
    add_block(problem, b, kept, scratch + sharpen_scratch(problem), visits);
  }
}

}  // namespace

std::int64_t dropping_floats(const Problem& problem) {
  const auto sharpened = static_cast<std::int64_t>(sizeof(Sharpened) / sizeof(float));
  return (problem.rows + problem.blocks) * page_tokens + problem.blocks * sharpened + 16;
}

void visit_some(const Problem& problem, const Look& look, float* memory, float* scratch,
                const Visits& visits) {
  begin(problem, look, visits);
  switch (problem.row[0].budget->kind) {
    case Budget::Kind::window:
      return visit_window(problem, look, memory, scratch, visits);
    case Budget::Kind::topk:
    case Budget::Kind::power:
      return visit_heaviest(problem, look, memory, scratch, visits);
    case Budget::Kind::mass:
    case Budget::Kind::bytes:
      break;
  }
  core::fail(Code::internal, "a budget that leaves no keys out was taken for one that does");
}

}  // namespace tamis::sieve
