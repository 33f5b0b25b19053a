#include "lab/experiments/head_rows.h"

#include <algorithm>
#include <cmath>

#include <tamis/lab/rows.h>

#include "core/fail.h"
#include "lab/experiments/synthetic_heads.h"
#include "lab/experiments/trace_points.h"
#include "lab/numbers/random.h"

namespace tamis::lab::experiments {
namespace {

// The first row of the random stream after those that synthetic heads use.
constexpr std::uint64_t length_row = std::uint64_t{3} << 40;

}  // namespace

std::vector<double> HeadRows::logits(std::int64_t query) const {
  const auto d = static_cast<std::size_t>(shape.head_dim);
  const float* row = q.data() + static_cast<std::size_t>(query) * d;
  std::vector<double> s(static_cast<std::size_t>(seen[static_cast<std::size_t>(query)]));
  for (std::size_t j = 0; j < s.size(); ++j) {
    double dot = 0;
    for (std::size_t c = 0; c < d; ++c)
      dot += static_cast<double>(row[c]) * static_cast<double>(k[j * d + c]);
    s[j] = static_cast<double>(shape.scale) * dot;
  }
  return s;
}

std::vector<double> HeadRows::k_eps(double eps, int threads) const {
  const PageTables pages(DType::f32, k.data(), v.data(), 1, tokens(), shape.head_dim,
                         shape.value_dim);
  Workspace workspace(threads);
  const RowFigures figures =
      row_figures(shape, {q.data(), shape.queries, shape.head_dim}, pages.heads(), seen,
                  {.eps = {eps}, .sinks = 0, .windows = {}}, workspace);
  return {figures.k_eps.begin(), figures.k_eps.end()};
}

HeadRows synthetic_rows(const Regime& regime, std::vector<std::int64_t> seen, std::uint64_t seed) {
  SyntheticHead head = synthetic_head({.n = *std::ranges::max_element(seen),
                                       .queries = static_cast<std::int64_t>(seen.size()),
                                       .R = 1,
                                       .seed = seed});
  const auto d = static_cast<std::size_t>(head.shape.head_dim);
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (std::size_t c = 0; c < d; ++c)
      head.q[i * d + c] = static_cast<float>(static_cast<double>(head.q[i * d + c]) *
                                             regime.at(static_cast<double>(seen[i])));
  return {head.shape, std::move(head.q), std::move(head.k), std::move(head.v), std::move(seen)};
}

std::vector<std::int64_t> log_uniform(std::int64_t count, double low, double high,
                                      std::uint64_t seed) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u =
        numbers::Stream(seed, numbers::Purpose::sweep, length_row + static_cast<std::uint64_t>(i))
            .uniform(0);
    all.push_back(std::llround(low * std::pow(high / low, u)));
  }
  return all;
}

std::vector<Json> head_points(const GridRequest& request, std::int64_t fewest) {
  std::vector<Json> points;
  if (request.trace == nullptr) return points;
  const Trace& trace = request.trace->trace;
  const auto [shortest, longest] = std::ranges::minmax_element(trace.seen());
  if (static_cast<std::int64_t>(trace.seen().size()) < fewest)
    core::fail(Code::usage, "{} has {} queries; {} needs at least {}", trace_name(request),
               trace.seen().size(), request.kind.name, fewest);
  if (*shortest == *longest)
    core::fail(
        Code::usage,
        "every query of {} sees {} keys; {} needs queries that see different numbers of keys",
        trace_name(request), *longest, request.kind.name);
  for (const TraceLayer& layer : trace.layers())
    for (std::int64_t head = 0; head < layer.shape.query_heads; ++head)
      points.emplace_back(layer_parameters(*request.trace, layer))["head"] = head;
  return points;
}

HeadRows trace_rows(const Json& parameters, const SweepTrace& trace) {
  const TraceLayer& layer = layer_of(trace, parameters);
  const LayerData data = trace.trace.read(layer);
  const Shape& all = layer.shape;
  const std::int64_t head = parameters.at("head");
  const std::int64_t kv_head = head / all.group();
  const auto slice = [](const std::vector<float>& values, std::int64_t part, std::int64_t size) {
    const auto from = values.begin() + part * size;
    return std::vector<float>(from, from + size);
  };
  HeadRows rows;
  rows.shape = all;
  rows.shape.query_heads = rows.shape.kv_heads = 1;
  rows.shape.dtype = DType::f32;
  rows.q = slice(data.q, head, all.queries * all.head_dim);
  rows.k = slice(data.k.to_f32(), kv_head, trace.trace.tokens() * all.head_dim);
  rows.v = slice(data.v.to_f32(), kv_head, trace.trace.tokens() * all.value_dim);
  rows.seen.assign(trace.trace.seen().begin(), trace.trace.seen().end());
  return rows;
}

}  // namespace tamis::lab::experiments
