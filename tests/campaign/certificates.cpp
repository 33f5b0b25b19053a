// Certificates of sparse attention against the oracle, by the million: adversarial synthetic problems, then
// every row of the given traces. A row's exact attention is computed once and shared by all budgets tried
// on it. About 10 µs per record and core.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include <tamis/trace.h>

#include "campaign/tally.h"
#include "core/parallel.h"
#include "support/targets.h"

namespace tamis::testing {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Tried {
  Budget budget;
  bool ladder;
  bool direct;  ///< as soon as possible, and not densely because that were sooner
  std::string name;
};

std::vector<Tried> tried_budgets() {
  std::vector<Tried> all;
  for (const char* text :
       {"mass:0.3", "mass:0.05", "mass:0.01", "mass:0.001", "bytes:0.2", "bytes:0.4", "topk:4", "topk:64",
        "power:1,0.5", "power:2,0.7", "window:64,4", "window:512,0"})
    for (const char* how : {"", ", direct", ", ladder off"}) {
      const bool direct = how == std::string_view(", direct");
      if (direct && !std::string_view(text).starts_with("mass")) continue;
      all.push_back({parse_budget(text), how != std::string_view(", ladder off"), direct,
                     fmt::format("{:02} {}{}", all.size() + 1, text, how)});
    }
  return all;
}

/// All budgets on one call.
Tally try_budgets(const SieveCall& call, const std::string& kind, const std::string& where,
                  std::span<const Tried> budgets, Workspace& workspace) {
  const Oracle oracle(call.shape, call.q, call.kv, call.seen);
  const std::optional<DenseResult> dense = run_dense(call, workspace);
  Tally tally;
  for (const Tried& tried : budgets) {
    SieveCall one = call;
    one.budgets = {&tried.budget, 1};
    one.ladder = tried.ladder;
    one.fewest_bytes = call.fewest_bytes && !tried.direct;
    one.forecast = !tried.direct;
    const Report report = check_call(oracle, one, dense ? &*dense : nullptr, workspace);
    tally.kinds[kind].report.add(report);
    tally.budgets[tried.name].report.add(report);
    tally.budgets[tried.name].rows += call.shape.rows();
    tally.all.report.add(report);
    for (const auto& [claim, sentence] : report.examples)
      tally.violations[claim].push_back(where + ": " + sentence);
  }
  tally.kinds[kind].rows = call.shape.rows();
  tally.all.rows = call.shape.rows();
  return tally;
}

/// Problem `item` of a seed: kinds in turn, everything else drawn.
SieveCase synthetic(std::uint64_t seed, std::int64_t item) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(item));
  const auto one_of = [&](auto... choices) {
    const std::common_type_t<decltype(choices)...> list[] = {choices...};
    return list[random() % sizeof...(choices)];
  };
  SieveCase c;
  Case& a = c.attention;
  a.seed = random() | 1U;
  a.kind = all_kinds()[static_cast<std::size_t>(item) % all_kinds().size()];
  a.shape.dtype = one_of(DType::f32, DType::f16, DType::bf16);
  a.shape.kv_heads = one_of(1, 1, 2);
  const std::int64_t group = one_of(1, 2, 3, 4, 5, 6, 8, 12, 16);
  a.shape.query_heads = a.shape.kv_heads * group;
  a.shape.queries = std::min<std::int64_t>(one_of(1, 1, 2, 3, 4, 7), sieve_rows / group);
  a.shape.head_dim =
      one_of(1, 3, 8, 16, 32, 48, 64, 64, 64, 80, 96, 128, 128, 192, 256, random() % 8 == 0 ? 1024 : 17);
  a.shape.value_dim = one_of(a.shape.head_dim, a.shape.head_dim, std::int64_t{2}, std::int64_t{24},
                             std::int64_t{64}, std::int64_t{128});
  a.shape.scale =
      one_of(1.0F, 1.0F, 1.0F, 2.0F, 0.5F, -1.0F) / std::sqrt(static_cast<float>(a.shape.head_dim));
  a.tokens = static_cast<std::int64_t>(128 * std::exp2(static_cast<double>(random() % 4096) / 1024));
  if (item % 8 == 0) a.tokens *= 4;  // several spans; these do not ask for the fewest bytes
  a.causal = random() % 3 == 0;
  a.masked =
      !a.causal && a.shape.queries > 1 && random() % 2 == 0;  // the first of a masked call sees nothing
  a.hidden = random() % 3 == 0 ? static_cast<std::int64_t>(random() % 100) : 0;
  a.padded_rows = random() % 4 == 0;
  c.sinks = one_of(0, 4, 4, 4, 16, 128);
  c.values = random() % 4 != 0;
  c.lag = one_of(0, 0, 0, 1, 130);
  return c;
}

/// Keeps the tally of all threads, and a line of progress on a terminal.
class Ledger {
 public:
  Ledger(std::int64_t wanted, Clock::time_point start) : wanted_(wanted), start_(start) {}

  void add(const Tally& tally) {
    const std::lock_guard lock(mutex_);
    for (const auto& [claim, sentences] : tally.violations)
      if (!tally_.violations.contains(claim))
        fmt::print(stderr, "{}VIOLATED: {}\n", terminal_ ? "\r\033[K" : "", sentences[0]);
    tally_.add(tally);
    const double seconds = seconds_since(start_);
    if (!terminal_ || seconds < shown_ + 0.5) return;
    shown_ = seconds;
    const auto records = static_cast<double>(sparse());
    const double left = records > 0 ? seconds * (static_cast<double>(wanted_) / records - 1) : 0;
    fmt::print(stderr, "\r\033[K{:.0f} of {} sparse records, {} violations, {:.0f} s left", records,
               wanted_, tally_.all.report.violations, std::max(0.0, left));
  }
  void end_line() const {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }
  /// Records that are not dense fallbacks: those are what is asked for.
  [[nodiscard]] std::int64_t sparse() const { return tally_.all.report.sparse; }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  std::int64_t wanted_;
  Clock::time_point start_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  double shown_ = 0;
  std::mutex mutex_;
  Tally tally_;
};

/// Synthetic problems from number `item` on until there are `wanted` sparse records. Whole batches, so that
/// what is tried does not depend on the number of threads.
void try_synthetic(const CampaignOptions& options, std::span<const Tried> budgets, const char* target,
                   const Kernels& kernels, std::int64_t wanted, std::int64_t& item, Ledger& ledger) {
  const auto batch = static_cast<std::int64_t>(all_kinds().size());
  while (ledger.sparse() < wanted) {
    for_each_item(kernels, batch, options.threads, [&](std::int64_t i) {
      const std::int64_t number = item + i;
      const SieveCase c = synthetic(options.seed, number);
      const Problem problem(c.attention);
      const Index index = index_of(c, problem);
      Workspace workspace(1);
      const auto place = static_cast<std::size_t>(c.attention.kind);
      const std::string where = fmt::format("seed {} item {} on {}, {}, scale {}", options.seed, number,
                                            target, name(c), problem.shape().scale);
      SieveCall call = call_of(index, problem, {});
      call.fewest_bytes = number % 8 != 0;
      ledger.add(try_budgets(call, fmt::format("{:02} {}", place + 1, name_of(c.attention.kind)), where,
                             budgets, workspace));
    });
    item += batch;
  }
}

/// The rows of a trace: the queries of one place in the text are one step of decoding. All of them, unless
/// that were more than half of the records asked for; then places at even distances.
void try_trace(const std::string& path, const CampaignOptions& options, std::span<const Tried> budgets,
               Ledger& ledger) {
  const Trace trace(path);
  std::int64_t rows = 0;
  for (const TraceLayer& layer : trace.layers()) rows += layer.shape.rows();
  const auto files = static_cast<std::int64_t>(options.traces.size());
  const std::int64_t most = std::max<std::int64_t>(1, options.records / 2 / files);
  const std::int64_t stride = (rows * static_cast<std::int64_t>(budgets.size()) + most - 1) / most;
  const std::string file = path.substr(path.rfind('/') + 1);
  for (const TraceLayer& layer : trace.layers()) {
    const LayerData data = trace.read(layer);
    const Shape& whole = layer.shape;
    const PageTables tables(whole.dtype, data.k.bytes().data(), data.v.bytes().data(), whole.kv_heads,
                            trace.tokens(), whole.head_dim, whole.value_dim);
    Index index({whole.dtype, whole.kv_heads, whole.head_dim, whole.value_dim});
    Workspace builder(options.threads);
    index.extend(tables.heads(), builder);
    parallel_for((whole.queries + stride - 1) / stride, options.threads, [&](std::int64_t item, int) {
      const std::int64_t i = item * stride;
      std::vector<float> q;
      for (std::int64_t h = 0; h < whole.query_heads; ++h) {
        const auto at = data.q.begin() + (h * whole.queries + i) * whole.head_dim;
        q.insert(q.end(), at, at + whole.head_dim);
      }
      SieveCall call;
      call.index = &index;
      call.shape = whole;
      call.shape.queries = 1;
      call.q = {q.data(), whole.query_heads, whole.head_dim};
      call.kv = tables.heads();
      call.seen = trace.seen().subspan(static_cast<std::size_t>(i), 1);
      call.fewest_bytes = item % 3 != 0;
      Workspace workspace(1);
      Tally tally =
          try_budgets(call, "99 real: " + file, fmt::format("{} layer {} query {}", file, layer.layer, i),
                      budgets, workspace);
      tally.real_rows = tally.all.rows;
      ledger.add(tally);
    });
  }
}

}  // namespace

bool check_certificates(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = hardware_thread_count();
  const Clock::time_point start = Clock::now();
  const std::vector<Tried> budgets = tried_budgets();
  Ledger ledger(options.records, start);
  std::vector<std::string> used;
  for (const std::string& path : options.traces) try_trace(path, options, budgets, ledger);

  // The best target takes four fifths of the rest, the others share what is left.
  int count = 0;
  const KernelTarget* targets = kernel_targets(count);
  std::vector<std::pair<std::string, const Kernels*>> runs;
  for (int t = 0; t < count; ++t)
    if (const Kernels* kernels = runnable(targets[t]); kernels != nullptr)
      runs.emplace_back(fmt::format("{}{}", kernels->name, targets[t].runs_here ? "" : " (emulated)"),
                        kernels);
  const auto best = std::find_if(runs.rbegin(), runs.rend(), [](const auto& run) {
    return run.first.find("emulated") == std::string::npos;
  });
  std::rotate(runs.begin(), runs.begin() + (runs.rend() - best - 1), runs.end());
  const std::int64_t first = ledger.sparse();
  const std::int64_t rest = std::max<std::int64_t>(0, options.records - first);
  const auto others = static_cast<std::int64_t>(runs.size()) - 1;
  std::int64_t item = 0;
  for (std::size_t t = 0; t < runs.size(); ++t) {
    used.push_back(runs[t].first);
    const auto done = static_cast<std::int64_t>(t);
    const std::int64_t share =
        others == 0 ? rest : rest * 4 / 5 + (others > 0 ? rest / 5 * done / others : 0);
    try_synthetic(options, budgets, runs[t].first.c_str(), *runs[t].second,
                  t + 1 == runs.size() ? options.records : first + share, item, ledger);
  }
  ledger.end_line();
  publish(report(ledger.tally(), options, used, seconds_since(start)), options);
  return ledger.tally().all.report.violations == 0;
}

}  // namespace tamis::testing
