// Attention over a cache: checks the arguments, distributes the items of a plan over threads, and
// writes their results to the caller's arrays.
#include <tamis/attend.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attention/rounding.h"
#include "attention/workspace.h"
#include "core/fail.h"
#include "core/parallel.h"
#include "sieve/certify.h"
#include "sieve/dense/dense.h"
#include "sieve/sparse.h"
#include "sieve/testing.h"

namespace tamis {
namespace {

void check_dtype(const char* what, DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    core::fail(Code::usage, "{} are {}; they must be f32, f16 or bf16", what, name_of(dtype));
}

void check_budgets(const Heads& heads, std::span<const Budget> budgets) {
  if (budgets.size() != 1 && static_cast<std::int64_t>(budgets.size()) != heads.query_heads)
    core::fail(Code::usage,
               "{} budgets were given for {} query heads; one for all or one for each are possible",
               budgets.size(), heads.query_heads);
  for (const Budget& budget : budgets) check_budget(budget);
  if (budgets.size() == 1) return;
  for (std::int64_t h = 0; h < heads.query_heads; ++h) {
    const std::int64_t first = h / heads.group() * heads.group();
    if (budgets[static_cast<std::size_t>(h)].kind != budgets[static_cast<std::size_t>(first)].kind)
      core::fail(
          Code::usage,
          "query heads {} and {} share a KV head and need budgets of one kind; they have {} and {}",
          first, h, to_string(budgets[static_cast<std::size_t>(first)]),
          to_string(budgets[static_cast<std::size_t>(h)]));
  }
}

void check_call(const Cache& cache, const Plan& plan, const QueryRows& queries,
                std::span<const Budget> budgets, const AttendOptions& options,
                const Results& results) {
  const Heads& heads = cache.heads();
  if (plan.query_heads() != heads.query_heads || plan.kv_heads() != heads.kv_heads)
    core::fail(Code::usage,
               "the plan was made for {} query heads on {} KV heads; the cache has {} on {}",
               plan.query_heads(), plan.kv_heads(), heads.query_heads, heads.kv_heads);
  for (const Plan::Part& part : plan.parts())
    if (cache.tokens(part.sequence) != part.tokens)
      core::fail(Code::usage, "sequence {} has {} tokens; the plan was made for {}", part.sequence,
                 cache.tokens(part.sequence), part.tokens);
  const std::int64_t rows = plan.queries() * heads.query_heads;
  if (rows > 0 && queries.data == nullptr)
    core::fail(Code::usage, "the queries are null; there are {}", plan.queries());
  if (rows > 0 && results.out.data == nullptr)
    core::fail(Code::usage, "the output is null; it must have {} rows", rows);
  check_dtype("queries", queries.dtype);
  check_dtype("outputs", results.out.dtype);
  if (static_cast<std::int64_t>(results.lse.size()) != rows)
    core::fail(Code::usage, "lse has {} numbers; it must have one for each of the {} rows",
               results.lse.size(), rows);
  if (!results.certificates.empty() &&
      static_cast<std::int64_t>(results.certificates.size()) != rows)
    core::fail(Code::usage,
               "{} certificates were given for {} rows; there must be one for each, or none",
               results.certificates.size(), rows);
  check_budgets(heads, budgets);
  if (options.dense_below < 0)
    core::fail(Code::usage, "dense_below is {}; it must not be negative", options.dense_below);
  if (options.look < 0 || options.look > 2)
    core::fail(Code::usage,
               "look is {}; the first look reads 1 or 2 planes, or 0 for as many as pay",
               options.look);
  if (!(options.value_share > 0) || !std::isfinite(options.value_share))
    core::fail(Code::usage, "value_share is {}; it must be a positive number", options.value_share);
}

/// The arguments of a call after they were checked.
struct Call {
  const Cache& cache;
  const Heads& heads;
  const cache::Layout& layout;
  const Plan& plan;
  const QueryRows& queries;
  std::span<const Budget> budgets;
  const AttendOptions& options;
  const kernels::Kernels& kernels;
  const Results& results;
  Workspace::Impl& memory;
  const sieve::WeightsUsed* weights;  ///< null unless a test asks for them

  [[nodiscard]] const Budget& budget(std::int64_t query_head) const {
    return budgets[budgets.size() == 1 ? 0 : static_cast<std::size_t>(query_head)];
  }
};

/// The query and the query head of a row of an item.
struct Place {
  std::int64_t query;
  std::int64_t query_head;
  [[nodiscard]] std::size_t row(const Heads& heads) const {
    return static_cast<std::size_t>(query * heads.query_heads + query_head);
  }
};
Place place_of(const Call& call, const Plan::Item& item, std::int64_t r) {
  const std::int64_t i = item.first_row + r;
  const Plan::Part& part = call.plan.parts()[static_cast<std::size_t>(item.part)];
  return {part.first_query + i / call.heads.group(),
          item.head * call.heads.group() + i % call.heads.group()};
}

void read_query(const Call& call, const Place& place, float* to) {
  const std::int64_t at =
      place.query * call.queries.query_stride + place.query_head * call.queries.head_stride;
  const auto* bytes =
      static_cast<const std::byte*>(call.queries.data) + at * size_of(call.queries.dtype);
  const int type = call.queries.dtype == DType::f32   ? kernels::kv_f32
                   : call.queries.dtype == DType::f16 ? kernels::kv_f16
                                                      : kernels::kv_bf16;
  call.kernels.widen[type](bytes, to, call.heads.key_dim);
}

/// Writes a row of the output in the caller's dtype. Returns an upper bound on the distance by
/// which rounding to that type moved it.
double write_row(const Call& call, const Place& place, const float* from) {
  const OutputRows& out = call.results.out;
  const std::int64_t at = place.query * out.query_stride + place.query_head * out.head_stride;
  const std::int64_t d = call.heads.value_dim;
  if (out.dtype == DType::f32) {
    std::copy_n(from, d, static_cast<float*>(out.data) + at);
    return 0;
  }
  double moved2 = 0;
  for (std::int64_t c = 0; c < d; ++c) {
    float rounded;
    if (out.dtype == DType::f16) {
      const f16 x = to_f16(from[c]);
      static_cast<f16*>(out.data)[at + c] = x;
      rounded = to_float(x);
    } else {
      const bf16 x = to_bf16(from[c]);
      static_cast<bf16*>(out.data)[at + c] = x;
      rounded = to_float(x);
    }
    const double by = static_cast<double>(rounded) - static_cast<double>(from[c]);
    moved2 += by * by;
  }
  return attention::root_above(moved2);
}

void write_result(const Call& call, const Place& place, const float* out, float lse,
                  Certificate certificate) {
  const double moved = write_row(call, place, out);
  if (certificate.reached != Reached::not_finite) certificate.error += moved;
  call.results.lse[place.row(call.heads)] = lse;
  if (!call.results.certificates.empty())
    call.results.certificates[place.row(call.heads)] = certificate;
}

/// The threads that work on an item: workers first … first + crew.threads − 1 of the call.
struct Team {
  core::Crew crew;
  int first;
};

/// The inputs and outputs of dense attention, row after row.
struct DenseRows {
  DenseRows(const Heads& heads, std::int64_t rows, sieve::Arena& arena)
      : query(arena.take<float>(rows * heads.key_dim)),
        out(arena.take<float>(rows * heads.value_dim)),
        lse(arena.take<float>(rows)),
        seen(arena.take<std::int64_t>(rows)),
        certificate(arena.take<Certificate>(rows)) {}
  float* query;
  float* out;
  float* lse;
  std::int64_t* seen;
  Certificate* certificate;
};

/// Runs dense attention for an item.
void run_dense(const Call& call, const Plan::Item& item, const cache::SequenceView& sequence,
               Dense why, const Team& team) {
  const std::int64_t d = call.heads.key_dim;
  const std::int64_t dv = call.heads.value_dim;
  sieve::Arena counted(nullptr);
  DenseRows(call.heads, item.rows, counted);
  sieve::Arena arena(call.memory.item[static_cast<std::size_t>(team.first)].get(counted.floats()));
  const DenseRows at(call.heads, item.rows, arena);
  for (std::int64_t r = 0; r < item.rows; ++r) {
    const Place place = place_of(call, item, r);
    read_query(call, place, at.query + r * d);
    at.seen[r] = call.plan.seen()[static_cast<std::size_t>(place.query)];
    at.certificate[r] = {};
  }
  const auto rows = static_cast<std::size_t>(item.rows);
  const sieve::DenseItem dense{
      call.kernels,
      call.heads,
      call.layout,
      sequence,
      call.cache.options().dtype,
      item.head,
      {at.query, item.rows, d},
      {at.seen, rows},
      why,
      call.plan.parts()[static_cast<std::size_t>(item.part)].queries * call.heads.group()};
  float* scratch =
      call.memory.worker[static_cast<std::size_t>(team.first)].get(sieve::dense_scratch(dense));
  sieve::attend_dense(dense, scratch, {at.out, item.rows, dv}, {at.lse, rows},
                      {at.certificate, rows});
  for (std::int64_t r = 0; r < item.rows; ++r) {
    const Place place = place_of(call, item, r);
    Certificate& c = at.certificate[r];
    if (c.reached == Reached::met) c.reached = sieve::reached_by(call.budget(place.query_head), c);
    write_result(call, place, at.out + r * dv, at.lse[r], c);
  }
}

/// Reads and scales the queries of an item, and returns the problem for sparse attention.
sieve::Problem problem_of(const Call& call, const Plan::Item& item,
                          const cache::SequenceView& sequence, float* query) {
  const std::int64_t d32 = call.layout.key_d32;
  sieve::Problem problem{call.kernels,
                         call.heads,
                         call.layout,
                         sequence,
                         call.options,
                         call.cache.options().dtype,
                         item.head,
                         static_cast<int>(item.rows),
                         {},
                         0,
                         0,
                         query,
                         {}};
  const double factor = static_cast<double>(call.heads.scale) * attention::log2_e;
  for (std::int64_t r = 0; r < item.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Place place = place_of(call, item, r);
    problem.row[i] = {call.plan.seen()[static_cast<std::size_t>(place.query)],
                      &call.budget(place.query_head)};
    problem.seen = std::max(problem.seen, problem.row[i].seen);
    float* row = query + r * d32;
    read_query(call, place, row);
    double norm2 = 0;
    for (std::int64_t c = 0; c < call.layout.key_dim; ++c) {
      row[c] = static_cast<float>(static_cast<double>(row[c]) * factor);
      norm2 += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    }
    std::fill(row + call.layout.key_dim, row + d32, 0.0F);
    problem.query_norm[i] = attention::root_above(norm2);
    if (call.weights != nullptr)
      problem.told[i] = call.weights->weight +
                        static_cast<std::int64_t>(place.row(call.heads)) * call.weights->tokens;
  }
  const auto& blocks = sequence.blocks;
  problem.blocks = std::ranges::partition_point(
                       blocks, [&](const cache::CodedBlock& b) { return b.first < problem.seen; }) -
                   blocks.begin();
  return problem;
}

void run_item(const Call& call, const Plan::Item& item, const Team& team) {
  const Plan::Part& part = call.plan.parts()[static_cast<std::size_t>(item.part)];
  const cache::SequenceView sequence = cache::view_of(call.cache, part.sequence);
  if (item.rows > pass_rows) return run_dense(call, item, sequence, Dense::prefill, team);
  // Queries have scratch memory of their own: the size of `kept` is known only from the problem.
  attention::Scratch& kept = call.memory.item[static_cast<std::size_t>(team.first)];
  const std::int64_t query_floats = pass_rows * call.layout.key_d32;
  attention::Scratch& queries = call.memory.query[static_cast<std::size_t>(team.first)];
  const sieve::Problem problem = problem_of(call, item, sequence, queries.get(query_floats));
  if (problem.blocks == 0 || problem.seen < call.options.dense_below)
    return run_dense(call, item, sequence, Dense::short_sequence, team);
  struct Context {
    const Call& call;
    int first;
    std::int64_t floats;
  } context{call, team.first, sieve::sparse_scratch(problem)};
  const sieve::Threads threads{
      team.crew, &context, [](void* c, int worker) {
        const auto& at = *static_cast<Context*>(c);
        return at.call.memory.worker[static_cast<std::size_t>(at.first + worker)].get(at.floats);
      }};
  const sieve::Outcome outcome =
      sieve::attend_sparse(problem, kept.get(sieve::sparse_floats(problem)), threads);
  if (!outcome.finite) return run_dense(call, item, sequence, Dense::wide, team);
  for (std::int64_t r = 0; r < item.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    write_result(call, place_of(call, item, r), outcome.out + r * call.heads.value_dim,
                 outcome.lse[i], outcome.certificate[i]);
  }
}

void run(const Cache& cache, const Plan& plan, const QueryRows& queries,
         std::span<const Budget> budgets, const AttendOptions& options, Workspace& workspace,
         const Results& results, const sieve::WeightsUsed* weights) {
  const attention::InUse use(workspace);
  check_call(cache, plan, queries, budgets, options, results);
  Workspace::Impl& memory = workspace.impl();
  const Call call{cache,   cache.heads(), cache::layout_of(cache), plan,    queries,
                  budgets, options,       kernels::kernels(),      results, memory,
                  weights};
  const auto items = plan.items();
  // Each thread takes whole items as long as there is one for every thread. All threads work
  // together on each of the remaining items, span by span.
  const auto all = static_cast<std::int64_t>(items.size());
  const std::int64_t whole = memory.threads > 1 ? all / memory.threads * memory.threads : all;
  core::parallel_for(whole, memory.crew(), [&](std::int64_t i, int worker) {
    run_item(call, items[static_cast<std::size_t>(i)], {{1, memory.executor}, worker});
  });
  for (std::int64_t i = whole; i < all; ++i)
    run_item(call, items[static_cast<std::size_t>(i)], {memory.crew(), 0});
  memory.even_out();
}

}  // namespace

void attend(const Cache& cache, const Plan& plan, const QueryRows& queries,
            std::span<const Budget> budgets, const AttendOptions& options, Workspace& workspace,
            const Results& results) {
  run(cache, plan, queries, budgets, options, workspace, results, nullptr);
}

void sieve::attend_telling(const Cache& cache, const Plan& plan, const QueryRows& queries,
                           std::span<const Budget> budgets, const AttendOptions& options,
                           Workspace& workspace, const Results& results,
                           const WeightsUsed& weights) {
  run(cache, plan, queries, budgets, options, workspace, results, &weights);
}

}  // namespace tamis
