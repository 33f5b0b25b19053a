// Compares a profile pass with dense attention over the same queries and keys by medians of
// interleaved runs, and measures the peak memory of a pass against n, with a process for each n.
// Prints a page of Markdown.
//   tamis_bench_profile TRACE [REPEATS]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <tamis/info.h>
#include <tamis/lab/rows.h>
#include <tamis/lab/trace.h>

#include "timing.h"

namespace {

using namespace tamis;
using namespace tamis::lab;

/// The queries, keys and values of one layer, and the number of keys that each query sees.
struct Work {
  Shape shape;
  std::vector<float> q;
  std::vector<char> k, v;
  std::vector<std::int64_t> seen;
  std::int64_t tokens = 0;

  [[nodiscard]] double logits() const {
    double sum = 0;
    for (const std::int64_t n : seen) sum += static_cast<double>(n);
    return sum * static_cast<double>(shape.query_heads);
  }
  [[nodiscard]] PageTables tables() const {
    return {shape.dtype, k.data(),       v.data(),       shape.kv_heads,
            tokens,      shape.head_dim, shape.value_dim};
  }
};

std::vector<char> copy_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const auto* first = reinterpret_cast<const char*>(bytes.data());
  return {first, first + bytes.size()};
}

std::vector<Work> layers_of(const std::string& path) {
  const Trace trace(path);
  std::vector<Work> all;
  for (const TraceLayer& layer : trace.layers()) {
    const LayerData data = trace.read(layer);
    all.push_back({layer.shape,
                   data.q,
                   copy_of(data.k),
                   copy_of(data.v),
                   {trace.seen().begin(), trace.seen().end()},
                   trace.tokens()});
  }
  return all;
}

/// Makes one KV head of Gaussian keys in f16, with queries that see all tokens and whose logits
/// have standard deviation 2.
Work synthetic(std::int64_t tokens, std::int64_t queries) {
  constexpr std::int64_t d = 64;
  Work work;
  work.shape = {1, 1, queries, d, d, DType::f16, 0.25F};
  work.tokens = tokens;
  work.seen.assign(static_cast<std::size_t>(queries), tokens);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  work.q.resize(static_cast<std::size_t>(queries * d));
  for (float& x : work.q) x = normal(random);
  for (auto* side : {&work.k, &work.v}) {
    side->resize(static_cast<std::size_t>(tokens * d) * sizeof(f16));
    auto* to = reinterpret_cast<f16*>(side->data());
    for (std::int64_t i = 0; i < tokens * d; ++i) to[i] = to_f16(normal(random));
  }
  return work;
}

void compare(const std::string& name, const std::vector<Work>& works, int threads, int repeats) {
  Workspace workspace(threads);
  std::vector<double> dense_seconds, rows_seconds, ratios;
  double logits = 0;
  for (const Work& work : works) logits += work.logits();
  for (int repeat = 0; repeat <= repeats;
       ++repeat) {  // the first repeat warms up and is not counted
    double dense_time = 0;
    double rows_time = 0;
    for (const Work& work : works) {
      const PageTables tables = work.tables();
      const View<const float> q{work.q.data(), work.shape.rows(), work.shape.head_dim};
      std::vector<float> out(static_cast<std::size_t>(work.shape.rows() * work.shape.value_dim));
      std::vector<float> lse(static_cast<std::size_t>(work.shape.rows()));
      dense_time += seconds_of([&] {
        dense(work.shape, q, tables.heads(), work.seen, workspace,
              {out.data(), work.shape.rows(), work.shape.value_dim}, lse);
      });
      rows_time += seconds_of([&] {
        (void)row_figures(work.shape, q, tables.heads(), work.seen, RowOptions{}, workspace);
      });
    }
    if (repeat == 0) continue;
    dense_seconds.push_back(dense_time);
    rows_seconds.push_back(rows_time);
    ratios.push_back(rows_time / dense_time);
  }
  fmt::print("| {} | {} | {:.1f} | {:.3f} | {:.3f} | {:.2f} | {:.2f} | **{:.2f}** |\n", name,
             workspace.threads(), logits / 1e6, median(dense_seconds), median(rows_seconds),
             median(dense_seconds) / logits * 1e9 * workspace.threads(),
             median(rows_seconds) / logits * 1e9 * workspace.threads(), median(ratios));
  std::fflush(stdout);
}

/// Prints the peak resident memory in MiB of a pass over one head of n keys, and the size of its
/// keys and values.
void memory(std::int64_t tokens) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const Work work = synthetic(tokens, 128);
    const PageTables tables = work.tables();
    Workspace workspace(2);
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const RowFigures figures =
        row_figures(work.shape, {work.q.data(), work.shape.rows(), work.shape.head_dim},
                    tables.heads(), work.seen, RowOptions{}, workspace);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    fmt::print("| {} | {:.1f} | {:.1f} | {:.0f} |\n", tokens,
               static_cast<double>(after.ru_maxrss) / 1024,
               static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024,
               static_cast<double>(after.ru_maxrss - before.ru_maxrss) * 1024 /
                   static_cast<double>(tokens));
    std::fflush(stdout);
    std::_Exit(figures.n.empty() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("the process that measures memory failed");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: tamis_bench_profile TRACE [REPEATS]\n");
    return 2;
  }
  const int repeats = argc > 2 ? std::max(1, std::atoi(argv[2])) : 9;
  fmt::print(
      "Peak memory of one pass over a head of n keys (d = 64, f16, 128 queries, 2 threads):\n\n");
  fmt::print("| n | peak MiB | of which the pass | bytes per key |\n| --- | --- | --- | --- |\n");
  for (const std::int64_t tokens : {8192, 16384, 32768, 65536, 131072}) memory(tokens);
  fmt::print("\nTime, medians of {} interleaved repeats, target {}:\n\n", repeats, target());
  fmt::print(
      "| work | threads | 10⁶ logits | dense s | profile s | dense ns per logit and core | profile "
      "ns | ratio |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const std::vector<Work> trace = layers_of(argv[1]);
  const std::vector<Work> longest{synthetic(131072, 64)};
  for (const int threads : {1, 2}) {
    compare("trace", trace, threads, repeats);
    compare("n = 131072", longest, threads, repeats);
  }
  return 0;
}
