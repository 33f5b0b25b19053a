// Where the time of one sparse decode step goes: seconds of each stage, with the bytes it read and the
// multiply-adds it did, counted from the certificates. Loaded by bench/sieve.py, which empties the caches
// between steps; holds an index over the caller's K and V.
#include "sieve/stages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tamis/sieve.h>

#include "attention/workspace.h"
#include "sieve/index.h"

namespace {

using namespace tamis;

struct StageCost {
  double seconds;
  double bytes;     ///< of the index, K and V
  double integer;   ///< multiply-adds of 16-bit integers
  double floating;  ///< multiply-adds of f32
};

struct Probe {
  Shape shape;
  PageTables tables;
  Budget budget;
  Workspace workspace;
  Stages stages;
  Index index;
  std::vector<float> out, lse;
  std::vector<Certificate> certificates;

  Probe(const Shape& s, std::int64_t n, const void* k, const void* v, const char* text, int threads)
      : shape(s),
        tables(s.dtype, k, v, s.kv_heads, n, s.head_dim, s.value_dim),
        budget(parse_budget(text)),
        workspace(threads),
        index({.dtype = s.dtype, .kv_heads = s.kv_heads, .head_dim = s.head_dim, .value_dim = s.value_dim}),
        out(static_cast<std::size_t>(s.rows() * s.value_dim)),
        lse(static_cast<std::size_t>(s.rows())),
        certificates(static_cast<std::size_t>(s.rows())) {
    index.extend(tables.heads(), workspace);
    workspace.impl().stages = &stages;
  }

  void step(const float* q) {
    stages = {};
    attend(index, shape, {q, shape.rows(), shape.head_dim}, tables.heads(), {}, std::span(&budget, 1), {},
           workspace, {out.data(), shape.rows(), shape.value_dim}, lse, certificates);
  }

  void count(std::span<StageCost, stage_names.size()> costs) const {
    for (std::size_t s = 0; s < costs.size(); ++s) costs[s] = {stages.seconds[s], 0, 0, 0};
    const auto at = [&](Stage stage) -> StageCost& { return costs[static_cast<std::size_t>(stage)]; };
    const Layout& layout = index.impl().layout;
    const auto rows = static_cast<double>(shape.group());
    const auto d = static_cast<double>(shape.head_dim), value_d = static_cast<double>(shape.value_dim);
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      // The rows of a KV head hold the same counts.
      const Certificate& c = certificates[static_cast<std::size_t>(head * shape.group())];
      const std::int64_t coded = c.middle_values * layout.middle_value_bytes();
      const auto refined = static_cast<double>((c.middle_bytes - coded) / layout.middle_key_bytes());
      const auto scanned = static_cast<double>(c.coarse_bytes > 0 ? index.tokens() : 0);
      const auto keys = static_cast<double>(c.exact_keys);
      const auto values = static_cast<double>(c.exact_values + c.middle_values);
      // A direct scan, or the sample of one, reads the codes of both meshes and multiplies once.
      const bool direct = c.coarse_keys == 0;
      at(Stage::scan).bytes += static_cast<double>(c.coarse_bytes);
      at(Stage::scan).integer += rows * d * scanned;
      at(direct ? Stage::scan : Stage::refine).bytes += static_cast<double>(c.middle_bytes - coded);
      if (!direct) at(Stage::refine).integer += rows * d * refined;
      StageCost& exact = at(c.dense ? Stage::dense : Stage::gather);
      exact.bytes += static_cast<double>(c.exact_bytes + coded);
      exact.floating += rows * (d * keys + value_d * values);
    }
  }
};

}  // namespace

#define PROBE_API extern "C" __attribute__((visibility("default")))

PROBE_API int probe_stage_count() { return static_cast<int>(stage_names.size()); }
PROBE_API const char* probe_stage_name(int stage) { return stage_names[static_cast<std::size_t>(stage)]; }

/// k and v are [kv_heads, n, d] in bf16 and stay the caller's. Null if anything was thrown.
PROBE_API Probe* probe_stages_new(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t n,
                                  std::int64_t d, float scale, int threads, const void* k, const void* v,
                                  const char* budget) try {
  const Shape shape{.query_heads = query_heads,
                    .kv_heads = kv_heads,
                    .queries = 1,
                    .head_dim = d,
                    .value_dim = d,
                    .dtype = DType::bf16,
                    .scale = scale};
  return new Probe(shape, n, k, v, budget, threads);
} catch (...) {
  return nullptr;
}

/// One step of all heads; q is [query_heads, d]. Returns 0, or 1 if anything was thrown.
PROBE_API int probe_stages_step(Probe* probe, const float* q, StageCost* costs) try {
  probe->step(q);
  probe->count(std::span<StageCost, stage_names.size()>(costs, stage_names.size()));
  return 0;
} catch (...) {
  return 1;
}

PROBE_API void probe_stages_free(Probe* probe) { delete probe; }
