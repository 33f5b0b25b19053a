#include "support/sieve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tamis/error.h>

namespace tamis::testing {
namespace {

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool equal(const Certificate& a, const Certificate& b) {
  return a.tau == b.tau && a.error == b.error && a.lse_error == b.lse_error && a.grade == b.grade &&
         a.dense == b.dense && a.coarse_keys == b.coarse_keys && a.middle_keys == b.middle_keys &&
         a.exact_keys == b.exact_keys && a.middle_values == b.middle_values &&
         a.exact_values == b.exact_values && a.coarse_bytes == b.coarse_bytes &&
         a.middle_bytes == b.middle_bytes && a.exact_bytes == b.exact_bytes;
}

Case attention_case(std::int64_t kv_heads, std::int64_t group, std::int64_t queries, std::int64_t d,
                    std::int64_t d_v, std::int64_t tokens, DType dtype, Kind kind) {
  Case c;
  c.shape = {group * kv_heads, kv_heads, queries, d, d_v, dtype, 1.0F / std::sqrt(static_cast<float>(d))};
  c.tokens = tokens;
  c.kind = kind;
  return c;
}

}  // namespace

bool same_bits(const SieveResult& a, const SieveResult& b) {
  return equal_bits(a.out, b.out) && equal_bits(a.lse, b.lse) &&
         std::equal(a.certificates.begin(), a.certificates.end(), b.certificates.begin(),
                    b.certificates.end(), equal);
}

std::optional<SieveResult> run_attend(const SieveCall& call, Workspace& workspace, bool weights) {
  const auto rows = static_cast<std::size_t>(call.shape.rows());
  SieveResult result;
  for (const KvPages& head : call.kv) result.keys = std::max(result.keys, head.tokens);
  if (!call.seen.empty()) result.keys = *std::max_element(call.seen.begin(), call.seen.end());
  result.out.resize(rows * static_cast<std::size_t>(call.shape.value_dim));
  result.lse.resize(rows);
  result.certificates.resize(rows);
  SieveOptions options;
  options.ladder = call.ladder;
  options.dense_below = call.dense_below;
  options.fewest_bytes = call.fewest_bytes;
  options.forecast = call.forecast;
  if (weights && result.keys > 0) {
    result.weights.resize(rows * static_cast<std::size_t>(result.keys));
    options.weights = {result.weights.data(), call.shape.rows(), result.keys};
  }
  try {
    attend(*call.index, call.shape, call.q, call.kv, call.seen, call.budgets, options, workspace,
           {result.out.data(), call.shape.rows(), call.shape.value_dim}, result.lse, result.certificates);
  } catch (const Error& error) {
    if (error.code() != Code::input) throw;
    return std::nullopt;
  }
  return result;
}

std::optional<DenseResult> run_dense(const SieveCall& call, Workspace& workspace) {
  const auto rows = static_cast<std::size_t>(call.shape.rows());
  DenseResult result;
  result.out.resize(rows * static_cast<std::size_t>(call.shape.value_dim));
  result.lse.resize(rows);
  try {
    dense(call.shape, call.q, call.kv, call.seen, workspace,
          {result.out.data(), call.shape.rows(), call.shape.value_dim}, result.lse);
  } catch (const Error& error) {
    if (error.code() != Code::input) throw;
    return std::nullopt;
  }
  return result;
}

std::string name(const SieveCase& c) {
  return fmt::format("{}_sinks{}{}_lag{}", name(c.attention), c.sinks, c.values ? "" : "_no_values", c.lag);
}

std::vector<SieveCase> sieve_cases() {
  std::vector<SieveCase> cases;
  const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
  // Kinds, with the prefixes and the index varying along.
  for (const DType dtype : dtypes)
    for (const Kind kind : all_kinds()) {
      SieveCase c;
      const auto i = static_cast<std::int64_t>(cases.size());
      c.attention = attention_case(1, 2, 2, 64, 64, 517 + i, dtype, kind);
      c.attention.causal = i % 3 == 0;
      c.attention.masked = i % 3 == 1;
      c.values = i % 4 != 3;
      c.attention.hidden = i % 4 == 1 ? 70 : 0;
      c.sinks = i % 5 == 2 ? 0 : 4;
      cases.push_back(c);
    }
  // Head sizes, values of the same and of other sizes.
  const std::int64_t sizes[] = {1, 3, 16, 64, 80, 96, 128, 256};
  for (std::size_t i = 0; i < std::size(sizes); ++i)
    for (const std::size_t other : {i, std::size(sizes) - 1 - i}) {
      const DType dtype = dtypes[(i + other) % 3];
      for (const Kind kind : {Kind::peaked, Kind::outliers})
        cases.push_back({attention_case(2, 1, 1, sizes[i], sizes[other], 389, dtype, kind)});
    }
  // Head sizes whose sums are largest.
  for (const std::int64_t size : {512, 1000, 1024})
    for (const Kind kind : {Kind::saturated, Kind::two_valued, Kind::aligned})
      cases.push_back({attention_case(1, 2, 1, size, 64, 300, dtypes[size % 3], kind)});
  // Groups and queries, up to and beyond what is read sparsely.
  for (const std::int64_t group : {1, 3, 4, 8})
    for (const std::int64_t queries : {1, 2, 3, 4}) {
      SieveCase c{
          attention_case(2, group, queries, 32, 32, 700, dtypes[(group + queries) % 3], Kind::peaked)};
      c.attention.causal = queries % 2 == 0;
      cases.push_back(c);
    }
  // What is always exact: sinks, the unfinished block and what the index lacks.
  for (const std::int64_t sinks : {0, 4, 128})
    for (const std::int64_t lag : {0, 1, 128, 300, 640}) {
      SieveCase c{attention_case(1, 3, 1, 64, 32, 640, DType::bf16, Kind::huge_sinks), sinks, lag % 3 != 0,
                  lag};
      c.attention.padded_rows = true;
      cases.push_back(c);
    }
  // Numbers of keys around blocks, down to none.
  for (const std::int64_t n : {0, 1, 127, 128, 129, 255, 256, 257, 1281})
    cases.push_back({attention_case(1, 4, 1, 48, 48, n, DType::f16, Kind::peaked)});
  // Scales.
  for (const float scale : {0.0F, -0.5F, 1e-30F, 0x1p-149F, 30.0F, 1e15F, 1e30F}) {
    SieveCase c{attention_case(1, 3, 1, 64, 64, 600, DType::f32, Kind::normal)};
    c.attention.shape.scale = scale;
    cases.push_back(c);
  }
  return cases;
}

std::vector<Budget> sieve_budgets() {
  std::vector<Budget> budgets;
  for (const char* text : {"mass:0.3", "mass:0.05", "mass:0.01", "mass:0.0001", "bytes:0.2", "bytes:0.35",
                           "bytes:0.6", "topk:1", "topk:16", "topk:100", "topk:100000", "power:1,0.5",
                           "power:3,0.7", "window:1,0", "window:100,4", "window:10000,0"})
    budgets.push_back(parse_budget(text));
  return budgets;
}

std::vector<KvPages> without_last(std::span<const KvPages> kv, std::int64_t lag) {
  std::vector<KvPages> shorter(kv.begin(), kv.end());
  for (KvPages& head : shorter) head.tokens = std::max<std::int64_t>(0, head.tokens - lag);
  return shorter;
}

Index index_of(const SieveCase& c, const Problem& problem) {
  const Shape& shape = problem.shape();
  Index index({shape.dtype, shape.kv_heads, shape.head_dim, shape.value_dim, c.sinks, c.values});
  Workspace workspace(1);
  index.extend(without_last(problem.kv(), c.lag), workspace);
  return index;
}

SieveCall call_of(const Index& index, const Problem& problem, std::span<const Budget> budgets) {
  SieveCall call;
  call.index = &index;
  call.shape = problem.shape();
  call.q = problem.q();
  call.kv = problem.kv();
  call.seen = problem.seen();
  call.budgets = budgets;
  return call;
}

}  // namespace tamis::testing
