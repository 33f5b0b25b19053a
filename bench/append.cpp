// Times what extending the index costs per token: mostly less than a call from Python, so it is done here.
// Loaded by bench/sieve.py; builds an index and copies nothing else.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <tamis/index.h>
#include <tamis/kv.h>
#include <tamis/workspace.h>

namespace {

using namespace tamis;
using Clock = std::chrono::steady_clock;

}  // namespace

extern "C" {

/// Indexes all but the last `appended` of n tokens, then extends the index after each of those.
/// k and v are [kv_heads, n, d] in bf16. seconds[0] is the time of all these calls, seconds[1] that of the
/// longest. Returns 0, or 1 if anything was thrown.
__attribute__((visibility("default"))) int probe_append(std::int64_t kv_heads, std::int64_t n,
                                                        std::int64_t d, std::int64_t appended, int threads,
                                                        const void* k, const void* v, double* seconds) try {
  const PageTables tables(DType::bf16, k, v, kv_heads, n, d, d);
  std::vector<KvPages> kv(tables.heads().begin(), tables.heads().end());
  const auto hold = [&](std::int64_t tokens) {
    for (KvPages& head : kv) head.tokens = tokens;
  };
  Workspace workspace(threads);
  Index index({.dtype = DType::bf16, .kv_heads = kv_heads, .head_dim = d, .value_dim = d});
  hold(n - appended);
  index.extend(kv, workspace);

  seconds[0] = seconds[1] = 0;
  for (std::int64_t tokens = n - appended + 1; tokens <= n; ++tokens) {
    hold(tokens);
    const auto start = Clock::now();
    index.extend(kv, workspace);
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    seconds[0] += taken;
    seconds[1] = std::max(seconds[1], taken);
  }
  return 0;
} catch (...) {
  return 1;
}

}  // extern "C"
