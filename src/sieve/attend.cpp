// Sparse attention: checks its arguments, decides per KV head between the sieve and dense attention, and
// runs the stages of step.h over a batch of heads at a time, so that what they share stays in the cache.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/check.h"
#include "attention/workspace.h"
#include "core/fail.h"
#include "core/parallel.h"
#include "sieve/fallback.h"
#include "sieve/fold.h"
#include "sieve/select.h"
#include "sieve/stages.h"
#include "sieve/step.h"

namespace tamis {
namespace {

/// Scratch of the heads of a batch together: they should find it in the cache again from stage to stage.
constexpr std::int64_t batch_bytes = std::int64_t{4} << 20;

void check_call(const Index& index, const Shape& shape, std::span<const KvPages> kv,
                std::span<const Budget> budgets, const SieveOptions& options, std::size_t certificates) {
  const IndexShape& built = index.shape();
  if (built.kv_heads != shape.kv_heads || built.head_dim != shape.head_dim ||
      built.value_dim != shape.value_dim || built.dtype != shape.dtype)
    fail(Code::usage,
         "the index was built for {} KV heads of {} and {} in {}; the call has {} of {} and {} in {}",
         built.kv_heads, built.head_dim, built.value_dim, name_of(built.dtype), shape.kv_heads,
         shape.head_dim, shape.value_dim, name_of(shape.dtype));
  for (std::size_t h = 0; h < kv.size(); ++h)
    if (kv[h].tokens < index.tokens())
      fail(Code::usage, "KV head {} has {} tokens, fewer than the {} that are indexed: truncate the index",
           h, kv[h].tokens, index.tokens());
  if (budgets.size() != 1 && static_cast<std::int64_t>(budgets.size()) != shape.query_heads)
    fail(Code::usage, "{} budgets were given for {} query heads; one for all or one for each are possible",
         budgets.size(), shape.query_heads);
  for (const Budget& budget : budgets) check_budget(budget);
  if (budgets.size() > 1)
    for (std::int64_t h = 0; h < shape.query_heads; ++h) {
      const Budget& first = budgets[static_cast<std::size_t>(h / shape.group() * shape.group())];
      if (budgets[static_cast<std::size_t>(h)].kind != first.kind)
        fail(Code::usage,
             "query heads {} and {} share a KV head and need budgets of one kind; they have {} and {}",
             h / shape.group() * shape.group(), h, to_string(first),
             to_string(budgets[static_cast<std::size_t>(h)]));
    }
  if (static_cast<std::int64_t>(certificates) != shape.rows())
    fail(Code::usage, "{} certificates were given for {} rows", certificates, shape.rows());
  if (options.dense_below < 0)
    fail(Code::usage, "dense_below is {}; it must not be negative", options.dense_below);
}

std::int64_t keys_of(const Budget& budget, std::int64_t seen) {
  if (budget.kind == Budget::Kind::topk) return std::min(budget.k, seen);
  if (budget.kind != Budget::Kind::power) return 0;
  const double keys = std::ceil(budget.alpha * std::pow(static_cast<double>(seen), budget.exponent));
  return keys < static_cast<double>(seen) ? std::max<std::int64_t>(1, static_cast<std::int64_t>(keys))
                                          : seen;
}

/// Where a step's arrays lie in the batch's scratch.
struct Places {
  std::int64_t rows, d32, value_d32, q_stride, o_stride, blocks, spans, pinned;
  bool direct;

  std::int64_t floats = 0;
  std::int64_t take(std::int64_t count) {
    const std::int64_t here = floats;
    floats += round_up(count, 16);
    return here;
  }
  static std::int64_t as_floats(std::size_t bytes) { return static_cast<std::int64_t>(bytes + 3) / 4; }

  /// Lays the arrays out; with memory, points the step at them.
  void lay(Step* step, float* memory) {
    floats = 0;
    const auto put = [&](auto Step::*field, std::int64_t count) {
      using T = std::remove_pointer_t<std::remove_reference_t<decltype(step->*field)>>;
      const std::int64_t here = take(as_floats(static_cast<std::size_t>(count) * sizeof(T)));
      if (step != nullptr) step->*field = reinterpret_cast<T*>(memory + here);
    };
    put(&Step::q, rows * d32);
    put(&Step::q_dense, rows * q_stride);
    put(&Step::pinned_weight, rows * pinned);
    put(&Step::folded, direct ? 0 : blocks * rows * d32);
    put(&Step::bound, blocks * rows * block_keys);
    put(&Step::refined, direct ? 0 : blocks * rows * block_keys);
    put(&Step::delta, direct ? 0 : blocks * rows * block_keys);
    put(&Step::block_row, blocks * rows);
    put(&Step::list, direct ? 0 : blocks * picked_stride);
    put(&Step::count, direct ? 0 : blocks);
    put(&Step::exact, direct ? 0 : blocks);
    put(&Step::coded_value, direct ? 0 : blocks);
    put(&Step::exact_value, direct ? 0 : blocks);
    put(&Step::span_row, (spans + 1) * rows);
    put(&Step::reads, spans + 1);
    put(&Step::partial, (spans + 1) * rows * (value_d32 + o_stride));
  }
};

struct Caller {
  const DenseCall& call;
  const Index::Impl& index;
  std::span<const Budget> budgets;
  const SieveOptions& options;
  Workspace& workspace;
  View<float> out;
  std::span<float> lse;
  std::span<Certificate> certificates;
};

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

/// Bytes that a budget of bytes leaves after what is read in any case.
std::int64_t bytes_left(const Step& step) {
  const Shape& shape = step.call->shape;
  const std::int64_t key = (shape.head_dim + shape.value_dim) * size_of(shape.dtype);
  double share = 0;
  for (int r = 0; r < step.rows; ++r)
    share = std::max(share, step.row[static_cast<std::size_t>(r)].budget.share);
  const auto scan = step.blocks * static_cast<std::int64_t>(step.layout->coarse_bytes) + step.pinned * key;
  return static_cast<std::int64_t>(share * static_cast<double>(step.keys * key)) - scan;
}

/// The heads of a batch, stage by stage; sets `dense` for those that gave up.
void run_batch(const Caller& caller, std::span<Step> steps, std::int64_t floats) {
  Workspace::Impl& workspace = caller.workspace.impl();
  const auto scratch = [&](int worker) {
    return workspace.worker[static_cast<std::size_t>(worker)].get(floats);
  };
  const auto heads = static_cast<std::int64_t>(steps.size());
  std::int64_t spans = 0;
  for (const Step& step : steps) spans = std::max(spans, step.spans);
  const auto each_head = [&](auto stage) {
    parallel_for(heads, workspace.threads, [&](std::int64_t i, int worker) {
      Step& step = steps[static_cast<std::size_t>(i)];
      if (!step.dense) stage(step, worker);
    });
  };
  const auto each_span = [&](auto stage) {
    parallel_for(heads * spans, workspace.threads, [&](std::int64_t item, int worker) {
      Step& step = steps[static_cast<std::size_t>(item / spans)];
      if (!step.dense && item % spans < step.spans) stage(step, item % spans, worker);
    });
  };
  StageClock clock(workspace.stages);
  const auto warm = [&](const Step& step) { return workspace.warm.data() + step.head * 2 * sieve_rows; };

  each_head([&](Step& step, int worker) {
    scale_queries(caller, step);
    sample(step, scratch(worker));
    pin(step, scratch(worker));
    settle_sample(step);
    step.dense = step.reads[step.spans].failed || !step.sane ||
                 (step.options->forecast && dense_is_cheaper(step, warm(step)));
    step.scanned = step.blocks / sample_stride(step.blocks);
  });
  for (Step& step : steps)
    if (!step.dense) step.scanned = step.blocks;
  clock.lap(Stage::prepare);
  if (std::ranges::all_of(steps, &Step::dense)) return;  // no rounds of threads with nothing to do
  each_span([&](Step& step, std::int64_t span, int worker) { scan_span(step, span, scratch(worker)); });
  clock.lap(Stage::scan);
  each_head([&](Step& step, int) {
    for (std::int64_t span = 0; span < step.spans; ++span)
      if (step.reads[span].failed) step.dense = true;
    if (step.dense || !step.direct) return;
    step.settled = true;
    step.dense = !select_direct(step, warm(step));
  });
  clock.lap(Stage::select);
  for (bool pending = true; pending;) {
    each_head([&](Step& step, int) {
      if (step.settled) return;
      step.cap = bytes_left(step);
      select_coarse(step, warm(step));
      plan_fine(step);
    });
    clock.lap(Stage::select);
    each_span([&](Step& step, std::int64_t span, int worker) {
      if (!step.settled) refine_span(step, span, scratch(worker));
    });
    clock.lap(Stage::refine);
    each_head([&](Step& step, int) {
      if (step.settled) return;
      step.settled = select_fine(step);
      step.strictness /= 4;
      if (!step.settled && step.strictness < 1e-3) step.dense = true;
    });
    pending = false;
    for (const Step& step : steps) pending = pending || (!step.dense && !step.settled);
  }
  for (;;) {
    bool asking = false;
    for (const Step& step : steps) asking = asking || (!step.dense && open_fine(step));
    if (!asking) break;
    each_span([&](Step& step, std::int64_t span, int) {
      if (open_fine(step)) ask_fine(step, span);
    });
    for (Step& step : steps)
      if (!step.dense && open_fine(step)) answer_fine(step);
  }
  clock.lap(Stage::select);
  each_span([&](Step& step, std::int64_t span, int worker) {
    if (step.direct) {
      gather_direct(step, span, scratch(worker));
    } else {
      mark_fine(step, span);
      gather_span(step, span, scratch(worker));
    }
  });
  clock.lap(Stage::gather);
  each_head([&](Step& step, int worker) {
    if (!certify(step, scratch(worker), caller.out, caller.lse, caller.certificates)) step.dense = true;
  });
  clock.lap(Stage::certify);
}

/// For checks: the weight that each key was used with.
void write_weights(const Step& step, View<float> to) {
  for (int r = 0; r < step.rows; ++r) {
    const StepRow& row = step.row[static_cast<std::size_t>(r)];
    const auto weights = to.row(row.index);
    std::fill_n(weights.begin(), row.seen, 0.0F);
    const auto put = [&](std::int64_t token, float weight) {
      if (token < row.seen) weights[static_cast<std::size_t>(token)] = weight;
    };
    for (std::int64_t block = 0; block < step.blocks; ++block) {
      if (step.ladder())
        for (std::int64_t j = 0; j < block_keys; ++j)
          put(block * block_keys + j, step.bounds(block, r)[j] * step.at(block, r).phi);
      for (int i = 0; !step.direct && i < step.count[block]; ++i)
        put(block * block_keys + step.listed(block)[i], step.estimates(block, r)[i]);
    }
    for (std::int64_t i = 0; i < step.pinned; ++i)
      put(step.pinned_token(i), step.pinned_weight[r * step.pinned + i]);
  }
}

void attend_heads(const Caller& caller) {
  const Shape& shape = caller.call.shape;
  Workspace::Impl& workspace = caller.workspace.impl();
  const Layout& layout = caller.index.layout;
  const auto rows = static_cast<int>(shape.group() * shape.queries);
  const std::int64_t q_stride = round_up(shape.head_dim, caller.call.kernels.pad);
  const std::int64_t o_stride = round_up(shape.value_dim, caller.call.kernels.pad);
  const std::int64_t floats = step_scratch(layout, rows, o_stride);
  for (Scratch& worker : workspace.worker) worker.get(floats);
  const auto warm_size = static_cast<std::size_t>(shape.kv_heads * 2 * sieve_rows);
  if (workspace.warm.size() < warm_size)
    workspace.warm.resize(warm_size, std::numeric_limits<float>::quiet_NaN());

  constexpr std::size_t most_heads_in_batch = 16;  // they live on the stack
  std::array<Step, most_heads_in_batch> steps;
  std::int64_t head = 0;
  while (head < shape.kv_heads) {
    std::array<Places, most_heads_in_batch> places;
    std::size_t count = 0;
    std::int64_t total = 0;
    while (head < shape.kv_heads && count < most_heads_in_batch) {
      Step& step = steps[count];
      step = Step{};
      step.call = &caller.call;
      step.index = &caller.index;
      step.layout = &layout;
      step.options = &caller.options;
      step.head = head;
      step.rows = rows;
      step.q_stride = q_stride;
      step.o_stride = o_stride;
      step.root_d = std::sqrt(static_cast<double>(layout.d));
      step.chain = sum_chain(caller.call, layout.d32);
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
      places[count] = {rows,        layout.d32, layout.value_d32, q_stride,   o_stride,
                       step.blocks, step.spans, step.pinned,      step.direct};
      if (step.dense) places[count].blocks = places[count].spans = places[count].pinned = 0;
      places[count].lay(nullptr, nullptr);
      if (count >= static_cast<std::size_t>(workspace.threads) &&
          (total + places[count].floats) * 4 > batch_bytes)
        break;
      total += places[count].floats;
      ++count;
      ++head;
    }
    float* memory = workspace.sieve.get(total);
    for (std::size_t i = 0; i < count; ++i) {
      places[i].lay(&steps[i], memory);
      memory += places[i].floats;
    }
    const std::span<Step> batch(steps.data(), count);
    run_batch(caller, batch, floats);
    StageClock clock(workspace.stages);
    for (std::size_t i = 0; i < count; ++i)
      if (!batch[i].dense && caller.options.weights.rows > 0)
        write_weights(batch[i], caller.options.weights);
    std::array<Scanned, most_heads_in_batch> scanned;
    for (std::size_t i = 0; i < count; ++i) scanned[i] = {batch[i].scanned, batch[i].direct};
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i;
      while (end < count && batch[end].dense) ++end;
      if (end > i)
        attend_densely(caller.call, batch[i].head, caller.index, std::span(scanned).subspan(i, end - i),
                       caller.options, caller.workspace, caller.out, caller.lse, caller.certificates);
      i = std::max(end, i + 1);
    }
    clock.lap(Stage::dense);
  }
}

}  // namespace

void attend(const Index& index, const Shape& shape, View<const float> q, std::span<const KvPages> kv,
            std::span<const std::int64_t> seen, std::span<const Budget> budgets,
            const SieveOptions& options, Workspace& workspace, View<float> out, std::span<float> lse,
            std::span<Certificate> certificates) {
  check_arguments(shape, q, kv, seen);
  check_result(shape, out, lse.size());
  check_call(index, shape, kv, budgets, options, certificates.size());
  if (options.weights.rows > 0) check_weights(shape, kv, seen, options.weights);
  const DenseCall call = dense_call(shape, q, kv, seen);
  const Caller caller{call, index.impl(), budgets, options, workspace, out, lse, certificates};
  if (shape.group() * shape.queries > sieve_rows) {
    const Scanned none;
    for (std::int64_t head = 0; head < shape.kv_heads; ++head)
      attend_densely(call, head, index.impl(), {&none, 1}, options, workspace, out, lse, certificates);
  } else {
    attend_heads(caller);
  }
}

}  // namespace tamis
