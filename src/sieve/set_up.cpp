#include "sieve/set_up.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "attention/check.h"
#include "sieve/fold.h"
#include "sieve/select.h"

namespace tamis {
namespace {

std::int64_t keys_of(const Budget& budget, std::int64_t seen) {
  if (budget.kind == Budget::Kind::topk) return std::min(budget.k, seen);
  if (budget.kind != Budget::Kind::power) return 0;
  const double keys = std::ceil(budget.alpha * std::pow(static_cast<double>(seen), budget.exponent));
  return keys < static_cast<double>(seen) ? std::max<std::int64_t>(1, static_cast<std::int64_t>(keys))
                                          : seen;
}

void fill_rows(const Caller& caller, Step& step) {
  const Shape& shape = caller.call.shape;
  step.keys = 0;
  for (int r = 0; r < step.rows; ++r) {
    const Row where = row_of(shape, step.head, r);
    StepRow& row = step.row[static_cast<std::size_t>(r)];
    row.index = where.index;
    row.seen = keys_seen(caller.call.seen, where.query, step.kv());
    const std::int64_t head = where.index / shape.queries;
    row.budget = caller.budgets[caller.budgets.size() == 1 ? 0 : static_cast<std::size_t>(head)];
    row.keys = keys_of(row.budget, row.seen);
    step.keys = std::max(step.keys, row.seen);
  }
}

/// Whether a row's budget is to read everything that it sees.
bool wants_all(const StepRow& row) {
  const Budget& b = row.budget;
  switch (b.kind) {
    case Budget::Kind::topk:
    case Budget::Kind::power:
      return row.keys >= row.seen;
    case Budget::Kind::bytes:
      return b.share >= 1;
    case Budget::Kind::window:
      return row.seen <= b.window || row.seen - b.window <= b.sinks;
    default:
      return false;
  }
}

/// Whether there is nothing to choose, because the keys are few, a row wants them all, or too many are
/// pinned.
bool dense_anyway(const Step& step) {
  const Shape& shape = step.call->shape;
  const std::int64_t key = (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
  if (step.keys < step.options->dense_below || step.blocks == 0) return true;
  // A denormal factor has lost digits that no bound here allows for.
  if (step.call->factor != 0.0F && std::abs(step.call->factor) < 0x1p-126F) return true;
  if (step.blocks * static_cast<std::int64_t>(step.layout->coarse_bytes) + step.pinned * key >=
      step.keys * key)
    return true;
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    if (row.seen == step.keys && wants_all(row)) return true;
  }
  return false;
}

/// Lays the arrays of a step out from `memory` on, or only counts; returns the floats they take.
template <bool set>
std::int64_t lay(std::conditional_t<set, Step&, const Step&> step, float* memory) {
  std::int64_t floats = 0;
  const auto put = [&](auto Step::*field, std::int64_t count) {
    using T = std::remove_pointer_t<std::remove_reference_t<decltype(step.*field)>>;
    if constexpr (set) step.*field = reinterpret_cast<T*>(memory + floats);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    floats += round_up(static_cast<std::int64_t>(bytes + 3) / 4, 16);
  };
  const std::int64_t rows = step.rows;
  const std::int64_t refined = step.direct ? 0 : step.blocks;  // of which there are lists
  put(&Step::q, rows * step.layout->d32);
  put(&Step::q_dense, rows * step.q_stride);
  put(&Step::pinned_weight, rows * step.pinned);
  put(&Step::folded, refined * rows * step.layout->d32);
  put(&Step::bound, step.blocks * rows * block_keys);
  put(&Step::refined, refined * rows * block_keys);
  put(&Step::delta, refined * rows * block_keys);
  put(&Step::block_row, step.blocks * rows);
  put(&Step::list, refined * picked_stride);
  put(&Step::count, refined);
  put(&Step::exact, refined);
  put(&Step::coded_value, refined);
  put(&Step::exact_value, refined);
  put(&Step::span_row, (step.spans + 1) * rows);
  put(&Step::reads, step.spans + 1);
  put(&Step::partial, (step.spans + 1) * rows * (step.layout->value_d32 + step.o_stride));
  return floats;
}
}  // namespace

Step step_of(const Caller& caller, std::int64_t head) {
  const Shape& shape = caller.call.shape;
  Step step{};
  step.call = &caller.call;
  step.index = &caller.index;
  step.layout = &caller.index.layout;
  step.options = &caller.options;
  step.head = head;
  step.rows = static_cast<int>(shape.group() * shape.queries);
  step.q_stride = round_up(shape.head_dim, caller.call.kernels.pad);
  step.o_stride = round_up(shape.value_dim, caller.call.kernels.pad);
  step.root_d = std::sqrt(static_cast<double>(step.layout->d));
  step.chain = sum_chain(caller.call, step.layout->d32);
  step.strictness = 1;
  fill_rows(caller, step);
  step.blocks = std::min(caller.index.blocks, (step.keys + block_keys - 1) / block_keys);
  step.spans = (step.blocks + span_blocks - 1) / span_blocks;
  const auto& pinned = caller.index.pinned[static_cast<std::size_t>(head)];
  step.pinned = std::lower_bound(pinned.begin(), pinned.end(), step.keys) - pinned.begin() +
                std::max<std::int64_t>(0, step.keys - step.blocks * block_keys);
  step.direct = step.row[0].budget.kind == Budget::Kind::mass && caller.options.ladder &&
                !caller.options.fewest_bytes;
  step.dense = dense_anyway(step) || (caller.options.forecast && step.direct && never_sooner(step));
  return step;
}

std::int64_t floats_of(const Step& step) { return step.dense ? 0 : lay<false>(step, nullptr); }
float* lay_out(Step& step, float* memory) { return memory + lay<true>(step, memory); }

void scale_queries(const Caller& caller, Step& step) {
  const DenseCall& call = caller.call;
  for (int r = 0; r < step.rows; ++r) {
    const auto from = call.q.row(step.row[static_cast<std::size_t>(r)].index);
    float* plain = step.q + r * step.layout->d32;
    float* dense = step.q_dense + r * step.q_stride;
    std::fill(plain, plain + step.layout->d32, 0.0F);
    std::fill(dense, dense + step.q_stride, 0.0F);
    double norm2 = 0;
    for (std::size_t c = 0; c < from.size(); ++c) {
      const float x = from[c] * call.factor;
      plain[c] = x;
      dense[place(call.kernels, call.type, static_cast<std::int64_t>(c))] = x;
      norm2 += static_cast<double>(x) * x;
    }
    step.row[static_cast<std::size_t>(r)].query_norm = std::sqrt(norm2) * (1 + 0x1p-40);
  }
}

}  // namespace tamis
