// Compares millions of certificates of sparse attention with the oracle, on every target: rows of
// the given traces, then synthetic problems of every kind, in caches with random histories. Takes
// about 0.1 ms per record and core.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <random>

#include <tamis/info.h>
#include <tamis/lab/trace.h>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "sieve/testing.h"
#include "support/cache/cache_oracle.h"
#include "support/certificates/planes.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

struct Drawn {
  Case attention;
  CacheOptions options;
  Happenings may;
  DType out;
  int look;
};

Drawn draw_item(std::uint64_t seed, std::int64_t item) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(item));
  const auto one_of = [&](auto... choices) {
    const std::common_type_t<decltype(choices)...> list[] = {choices...};
    return list[random() % sizeof...(choices)];
  };
  Drawn drawn{};
  Case& a = drawn.attention;
  a.seed = random() | 1U;
  a.kind = all_kinds()[static_cast<std::size_t>(item) % all_kinds().size()];
  a.shape.dtype = one_of(DType::f32, DType::f16, DType::bf16);
  a.shape.kv_heads = one_of(1, 1, 2);
  a.shape.query_heads = a.shape.kv_heads * one_of(1, 2, 3, 4, 5, 8);
  a.shape.queries = one_of(1, 1, 2, 3, 4);
  a.shape.head_dim =
      one_of(1, 3, 16, 32, 48, 64, 64, 64, 80, 128, 128, 200, random() % 8 == 0 ? 1024 : 17);
  a.shape.value_dim = one_of(a.shape.head_dim, std::int64_t{2}, std::int64_t{24}, std::int64_t{64});
  a.shape.scale =
      one_of(1.0F, 1.0F, 2.0F, 0.5F, -1.0F) / std::sqrt(static_cast<float>(a.shape.head_dim));
  a.tokens =
      static_cast<std::int64_t>(128 * std::exp2(static_cast<double>(random() % 4096) / 1024));
  if (item % 16 == 0) a.tokens *= 3;  // several spans
  a.causal = random() % 3 == 0;
  a.masked = !a.causal && a.shape.queries > 1 && random() % 2 == 0;
  a.hidden = random() % 3 == 0 ? static_cast<std::int64_t>(random() % 100) : 0;
  drawn.options.bits = one_of(8, 12, 12, 16);
  drawn.options.sinks = one_of(0, 4, 4, 16, 128);
  drawn.options.raw_below = one_of(0, 0, 0, 256);
  drawn.may = {one_of(true, true, false), one_of(true, false), one_of(true, false),
               random() % 6 == 0, random() % 64 == 0};
  drawn.out = one_of(DType::f32, DType::f32, DType::bf16);
  drawn.look = one_of(0, 1, 2);
  return drawn;
}

using ByBudget = std::map<std::string, Report>;

ByBudget try_item(std::uint64_t seed, std::int64_t item, const char* target) {
  const Drawn drawn = draw_item(seed, item);
  const Problem problem(drawn.attention);
  const Oracle oracle(problem.shape(), problem.q(), problem.kv(), problem.seen());
  const PlanesProblem planes(problem, drawn.options, drawn.may, static_cast<std::uint64_t>(item));
  Workspace workspace(1);
  ByBudget reports;
  for (const Budget& budget : planes_budgets()) {
    PlanesAsked asked;
    asked.budgets = {budget};
    asked.options.look = drawn.look;
    asked.out = drawn.out;
    Report report = check_planes(oracle, planes, asked, run_planes(planes, asked, workspace));
    for (auto& [claim, sentence] : report.examples)
      sentence = fmt::format("seed {} item {} on {}, {}: {}", seed, item, target,
                             name(drawn.attention), sentence);
    reports[fmt::format("{}, {} bits", to_string(budget), drawn.options.bits)].add(report);
  }
  return reports;
}

/// Checks the rows of one query of a trace, one per query head, against the oracle.
void check_query(const Cache& cache, const lab::TraceLayer& layer, const lab::LayerData& data,
                 std::span<const Oracle> exact, std::int64_t i, std::int64_t seen,
                 const Budget& budget, Report& report) {
  const Shape& shape = layer.shape;
  const Sequence sequence = 1;
  const std::int64_t one = 1;
  const auto rows = static_cast<std::size_t>(shape.query_heads);
  const auto d_v = static_cast<std::size_t>(shape.value_dim);
  const auto tokens = static_cast<std::size_t>(cache.tokens(sequence));
  std::vector<float> out(rows * d_v), lse(rows);
  std::vector<double> weights(rows * tokens);
  std::vector<tamis::Certificate> certificates(rows);
  Workspace workspace(1);
  const tamis::Plan plan(cache, {{&sequence, 1}, {&one, 1}, {&seen, 1}});
  sieve::attend_telling(
      cache, plan,
      {data.q.data() + i * shape.head_dim, DType::f32, 0, shape.queries * shape.head_dim},
      {&budget, 1}, {}, workspace,
      {{out.data(), DType::f32, 0, shape.value_dim}, lse, certificates},
      {weights.data(), cache.tokens(sequence)});
  for (std::size_t h = 0; h < rows; ++h) {
    const Oracle& oracle = exact[h];
    const tamis::Certificate& c = certificates[h];
    std::string said = false_claim(oracle[0], std::span(out).subspan(h * d_v, d_v), lse[h], c);
    ++report.records;
    if (c.dense == Dense::no) {
      ++report.sparse;
      const auto used = std::span(weights).subspan(h * tokens, static_cast<std::size_t>(seen));
      const std::vector<float> floats(used.begin(), used.end());
      said += false_tau(oracle[0], floats, c.tau);
      if (const double tau = total_variation(floats, oracle[0]); tau > oracle[0].tau_slack)
        report.tau.add(c.tau / tau);
      if (const double far = distance(std::span(out).subspan(h * d_v, d_v), oracle[0]);
          far > oracle[0].error_slack)
        report.error.add(c.error / far);
    }
    if (said.empty()) continue;
    ++report.violations;
    report.examples.emplace("trace", fmt::format("layer {} query {} head {} with {}: {}",
                                                 layer.layer, i, h, to_string(budget), said));
  }
}

/// Tries evenly spaced queries of a trace as decode steps, over caches of 12 and of 16 bits.
void try_trace(const std::string& path, const CampaignOptions& options, ByBudget& all) {
  const lab::Trace trace(path);
  for (const lab::TraceLayer& layer : trace.layers()) {
    const lab::LayerData data = trace.read(layer);
    const Shape& shape = layer.shape;
    const PageTables tables = data.pages();
    // Traces take at most a quarter of the records.
    const std::int64_t each =
        shape.query_heads * std::ssize(planes_budgets()) * 2 * std::ssize(trace.layers());
    const std::int64_t most = std::max<std::int64_t>(1, options.records / 4 / each);
    const std::int64_t stride = (shape.queries + most - 1) / most;
    for (const int bits : {12, 16}) {
      CacheOptions cache_options;
      cache_options.bits = bits;
      cache_options.dtype = shape.dtype;
      cache_options.raw_below = 0;
      Cache cache({shape.query_heads, shape.kv_heads, shape.head_dim, shape.value_dim, shape.scale},
                  cache_options);
      const Sequence sequence = 1;
      const std::int64_t tokens = trace.tokens();
      Workspace workspace(options.threads);
      cache.add(sequence);
      const auto rows = [&](const lab::Tensor& tensor, std::int64_t dim) {
        return tamis::Rows{tensor.bytes().data(), shape.dtype, dim, tokens * dim, 1, 0};
      };
      cache.append({&sequence, 1}, {&tokens, 1}, rows(data.k, shape.head_dim),
                   rows(data.v, shape.value_dim), workspace);
      std::mutex mutex;
      core::parallel_for(
          (shape.queries + stride - 1) / stride, options.threads, [&](std::int64_t item, int) {
            ByBudget reports;
            const std::int64_t i = item * stride;
            const std::int64_t seen = trace.seen()[static_cast<std::size_t>(i)];
            std::vector<Oracle> exact;
            Shape alone = shape;
            alone.query_heads = alone.kv_heads = alone.queries = 1;
            for (std::int64_t h = 0; h < shape.query_heads; ++h)
              exact.emplace_back(
                  alone,
                  View<const float>{data.q.data() + (h * shape.queries + i) * shape.head_dim, 1,
                                    shape.head_dim},
                  tables.heads().subspan(static_cast<std::size_t>(h / shape.group()), 1),
                  std::span(&seen, 1));
            for (const Budget& budget : planes_budgets())
              check_query(cache, layer, data, exact, i, seen, budget,
                          reports[fmt::format("trace: {}, {} bits", to_string(budget), bits)]);
            const std::lock_guard lock(mutex);
            for (const auto& [way, report] : reports) all[way].add(report);
          });
    }
  }
}

std::string report_of(const ByBudget& all, const CampaignOptions& options, double seconds) {
  Report sum;
  for (const auto& [way, report] : all) sum.add(report);
  std::string text = fmt::format(
      "## Certificates\n\n"
      "`{}`, seed {}, tamis {}, {}, {:%Y-%m-%d}, {:.0f} s.\n\n"
      "**{} records**, {} of them sparse, **{} violations**; {} below what the oracle resolves.\n\n"
      "| budget | records | sparse | violations | certified / true τ: least, median | error: "
      "least, median |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      options.command, options.seed, version(), processor(), std::chrono::system_clock::now(),
      seconds, sum.records, sum.sparse, sum.violations, sum.blind);
  for (const auto& [way, r] : all)
    text += fmt::format("| {} | {} | {} | {} | {:.4f}, {:.3g} | {:.4f}, {:.3g} |\n", way, r.records,
                        r.sparse, r.violations, r.tau.smallest(), r.tau.quantile(0.5),
                        r.error.smallest(), r.error.quantile(0.5));
  if (sum.violations > 0) text += "\n### Violations\n";
  for (const auto& [claim, sentence] : sum.examples) text += fmt::format("- {}\n", sentence);
  return text;
}

}  // namespace

bool check_certificates(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = core::hardware_thread_count();
  const auto start = std::chrono::steady_clock::now();
  int count = 0;
  const kernels::KernelTarget* targets = kernels::kernel_targets(count);
  ByBudget all;
  for (const std::string& path : options.traces) try_trace(path, options, all);
  std::mutex mutex;
  std::int64_t sparse = 0;
  for (const auto& [way, report] : all) sparse += report.sparse;
  // Each target gets whole batches, so that what is tried does not depend on the
  // number of threads.
  for (std::int64_t item = 0; sparse < options.records;)
    for (int t = 0; t < count; ++t) {
      const kernels::Kernels* kernels = runnable(targets[t]);
      if (kernels == nullptr) continue;
      const auto batch = static_cast<std::int64_t>(all_kinds().size());
      for_each_item(*kernels, batch, options.threads, [&](std::int64_t i) {
        const ByBudget reports = try_item(options.seed, item + i, kernels->name);
        const std::lock_guard lock(mutex);
        for (const auto& [way, report] : reports) {
          for (const auto& [claim, sentence] : report.examples)
            if (!all[way].examples.contains(claim)) fmt::print(stderr, "VIOLATED: {}\n", sentence);
          all[way].add(report);
          sparse += report.sparse;
        }
      });
      item += batch;
    }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  publish(report_of(all, options, seconds.count()), options);
  for (const auto& [way, report] : all)
    if (report.violations > 0) return false;
  return true;
}

}  // namespace tamis::test
