// Sparse attention: checks its arguments, shares the KV heads out among the threads, runs the stages of
// step.h for each, and dense attention for those that this is better for.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#include "attention/check.h"
#include "attention/workspace.h"
#include "core/fail.h"
#include "core/parallel.h"
#include "sieve/fallback.h"
#include "sieve/select.h"
#include "sieve/set_up.h"
#include "sieve/stages.h"

namespace tamis {
namespace {

static_assert(std::is_trivially_destructible_v<Step>);  // they lie in a workspace

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
  check_same_tokens(index.impl(), kv);
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

/// The threads that work on a batch of heads: workers first … first + crew.threads − 1.
struct Team {
  Crew crew;
  int first;
  Stages* stages;  ///< where their time is counted, if anywhere
};

/// The heads of a batch, stage by stage; sets `dense` for those that gave up.
void run_batch(const Caller& caller, std::span<Step> steps, const Team& team) {
  Workspace::Impl& workspace = caller.workspace.impl();
  const std::int64_t floats = step_scratch(*steps[0].layout, steps[0].rows, steps[0].o_stride);
  const auto scratch = [&](int worker) {
    return workspace.worker[static_cast<std::size_t>(team.first + worker)].get(floats);
  };
  const auto heads = static_cast<std::int64_t>(steps.size());
  std::int64_t spans = 0;
  for (const Step& step : steps) spans = std::max(spans, step.spans);
  const auto each_head = [&](auto stage) {
    parallel_for(heads, team.crew, [&](std::int64_t i, int worker) {
      Step& step = steps[static_cast<std::size_t>(i)];
      if (!step.dense) stage(step, worker);
    });
  };
  const auto each_span = [&](auto stage) {
    parallel_for(heads * spans, team.crew, [&](std::int64_t item, int worker) {
      Step& step = steps[static_cast<std::size_t>(item / spans)];
      if (!step.dense && item % spans < step.spans) stage(step, item % spans, worker);
    });
  };
  StageClock clock(team.stages);
  const auto warm = [&](const Step& step) { return workspace.warm.data() + step.head * 2 * sieve_rows; };

  each_head([&](Step& step, int worker) {
    scale_queries(caller, step);
    sample(step, scratch(worker));
    pin(step, scratch(worker));
    settle_sample(step);
    step.dense = step.reads[step.spans].failed || !step.sane ||
                 (step.options->forecast && dense_is_cheaper(step, warm(step)));
    step.scanned = blocks_picked(step.blocks, sample_stride(step.blocks));
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

/// Runs the steps of some heads together; their arrays lie in memory that nobody else uses meanwhile.
void run_heads(const Caller& caller, std::span<Step> steps, float* memory, const Team& team) {
  for (Step& step : steps)
    if (!step.dense) memory = lay_out(step, memory);
  if (!std::ranges::all_of(steps, &Step::dense)) run_batch(caller, steps, team);
  for (const Step& step : steps)
    if (!step.dense && caller.options.weights.rows > 0) write_weights(step, caller.options.weights);
}

/// Where there are two heads or more for every thread, threads take whole ones, from end to end: none waits
/// for another, and what a stage leaves is in its core's cache. Heads that are left over, and all of them
/// where they are few, are cut into spans: one that takes long, or is the only sparse one, keeps nobody
/// waiting.
void share_out(const Caller& caller, std::span<Step> steps) {
  Workspace::Impl& workspace = caller.workspace.impl();
  const auto threads = static_cast<std::size_t>(workspace.threads);
  std::int64_t most = 0;
  for (const Step& step : steps) most = std::max(most, floats_of(step));
  const std::size_t rest = steps.size() < 2 * threads ? steps.size() : steps.size() % threads;
  const std::size_t whole = steps.size() - rest;
  float* memory =
      workspace.sieve.get(most * static_cast<std::int64_t>(whole > 0 ? threads : std::min(rest, threads)));
  std::mutex mutex;
  parallel_for(static_cast<std::int64_t>(whole), workspace.crew(), [&](std::int64_t i, int worker) {
    Stages stages;
    run_heads(caller, steps.subspan(static_cast<std::size_t>(i), 1), memory + worker * most,
              {1, worker, workspace.stages != nullptr ? &stages : nullptr});
    if (workspace.stages == nullptr) return;
    const std::lock_guard lock(mutex);
    for (std::size_t s = 0; s < stages.seconds.size(); ++s)
      workspace.stages->seconds[s] += stages.seconds[s] / workspace.threads;
  });
  for (std::size_t i = whole; i < steps.size(); i += threads)
    run_heads(caller, steps.subspan(i, std::min(threads, steps.size() - i)), memory,
              {workspace.crew(), 0, workspace.stages});
}

/// Dense attention for the heads that are left, neighbours together.
void attend_rest(const Caller& caller, std::span<const Step> steps) {
  StageClock clock(caller.workspace.impl().stages);
  for (std::size_t i = 0; i < steps.size();) {
    std::array<Scanned, 64> scanned;
    std::size_t end = i;
    for (; end < steps.size() && steps[end].dense && end - i < scanned.size(); ++end)
      scanned[end - i] = {steps[end].scanned, steps[end].direct};
    if (end > i)
      attend_densely(caller.call, steps[i].head, caller.index, std::span(scanned).first(end - i),
                     caller.options, caller.workspace, caller.out, caller.lse, caller.certificates);
    i = std::max(end, i + 1);
  }
  clock.lap(Stage::dense);
}

void attend_heads(const Caller& caller) {
  const Shape& shape = caller.call.shape;
  Workspace::Impl& workspace = caller.workspace.impl();
  const std::int64_t floats =
      step_scratch(caller.index.layout, static_cast<int>(shape.group() * shape.queries),
                   round_up(shape.value_dim, caller.call.kernels.pad));
  for (Scratch& worker : workspace.worker) worker.get(floats);
  const auto warm_size = static_cast<std::size_t>(shape.kv_heads * 2 * sieve_rows);
  if (workspace.warm.size() < warm_size)
    workspace.warm.resize(warm_size, std::numeric_limits<float>::quiet_NaN());

  // A step is 4 kB: many heads are taken some at a time, enough of them for every thread.
  const std::int64_t at_once = std::min<std::int64_t>(shape.kv_heads, std::max(64, 4 * workspace.threads));
  static_assert(sizeof(Step) % sizeof(float) == 0);
  auto* room = reinterpret_cast<Step*>(
      workspace.steps.get(at_once * static_cast<std::int64_t>(sizeof(Step) / sizeof(float))));
  for (std::int64_t first = 0; first < shape.kv_heads; first += at_once) {
    const std::int64_t count = std::min(at_once, shape.kv_heads - first);
    for (std::int64_t i = 0; i < count; ++i) std::construct_at(room + i, step_of(caller, first + i));
    const std::span<Step> steps(std::launder(room), static_cast<std::size_t>(count));
    share_out(caller, steps);
    attend_rest(caller, steps);
  }
}

}  // namespace

void attend(const Index& index, const Shape& shape, View<const float> q, std::span<const KvPages> kv,
            std::span<const std::int64_t> seen, std::span<const Budget> budgets,
            const SieveOptions& options, Workspace& workspace, View<float> out, std::span<float> lse,
            std::span<Certificate> certificates) {
  const InUse use(workspace);
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
