// The pattern of a model's attention: the heaviest keys of every query of one head. Plain loops in
// f64 take queries·tokens·d multiply-adds, and memory for the keys of the head as doubles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <tamis/lab/generate.h>
#include "core/fail.h"
#include "lab/io/tensor_values.h"

namespace tamis::lab {
namespace {

/// All keys of one KV head.
std::vector<double> keys_of(const Tensor& k, std::int64_t head, std::int64_t tokens,
                            std::int64_t dim) {
  std::vector<double> keys(static_cast<std::size_t>(tokens * dim));
  const DType dtype = k.info().dtype;
  io::convert_to_f64(dtype, k.bytes().data() + head * tokens * dim * size_of(dtype), keys);
  return keys;
}

std::vector<double> logits_of(std::span<const float> query, std::span<const double> keys,
                              std::int64_t seen, double scale) {
  std::vector<double> logits(static_cast<std::size_t>(seen));
  for (std::size_t j = 0; j < logits.size(); ++j) {
    double dot = 0;
    for (std::size_t c = 0; c < query.size(); ++c)
      dot += static_cast<double>(query[c]) * keys[j * query.size() + c];
    logits[j] = scale * dot;
  }
  return logits;
}

}  // namespace

Pattern top_keys_pattern(const Trace& trace, std::int64_t layer, std::int64_t head,
                         std::int64_t k) {
  const TraceLayer& chosen = trace.layer(layer);
  const Shape& shape = chosen.shape;
  if (head < 0 || head >= shape.query_heads)
    core::fail(Code::usage, "{}: there is no head {} in layer {}; its query heads are 0 to {}",
               trace.path(), head, layer, shape.query_heads - 1);
  if (k < 1 || k > trace.tokens())
    core::fail(Code::usage,
               "k = {} keys per query were asked for; k must be from 1 to the {} tokens of {}", k,
               trace.tokens(), trace.path());
  const LayerData data = trace.read(chosen);
  const std::vector<double> keys =
      keys_of(data.k, head / shape.group(), trace.tokens(), shape.head_dim);

  Pattern pattern;
  pattern.rows = shape.queries;
  pattern.cols = trace.tokens();
  pattern.row_start.push_back(0);
  std::vector<std::int64_t> order;
  for (std::int64_t row = 0; row < shape.queries; ++row) {
    const auto query = std::span(data.q).subspan(
        static_cast<std::size_t>((head * shape.queries + row) * shape.head_dim),
        static_cast<std::size_t>(shape.head_dim));
    const std::vector<double> logits =
        logits_of(query, keys, trace.seen()[static_cast<std::size_t>(row)], shape.scale);
    order.resize(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto kept = order.begin() + std::min<std::int64_t>(k, std::ssize(order));
    std::ranges::partial_sort(order, kept, [&logits](std::int64_t a, std::int64_t b) {
      const double x = logits[static_cast<std::size_t>(a)];
      const double y = logits[static_cast<std::size_t>(b)];
      return x > y || (x == y && a < b);
    });
    const double top = logits[static_cast<std::size_t>(order.front())];
    double total = 0;
    for (const double logit : logits) total += std::exp(logit - top);
    std::sort(order.begin(), kept);
    for (auto j = order.begin(); j != kept; ++j) {
      const double weight = std::exp(logits[static_cast<std::size_t>(*j)] - top) / total;
      if (weight == 0) continue;  // it underflowed, so it is not a nonzero
      pattern.column.push_back(*j);
      pattern.value.push_back(weight);
    }
    pattern.row_start.push_back(pattern.nonzeros());
  }
  return pattern;
}

}  // namespace tamis::lab
