// Keys, values and queries of a trace, repeated to the length asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <tamis/error.h>
#include <tamis/lab/trace.h>

#include "attend/threads.h"
#include "bench/data.h"
#include "bench/random.h"

namespace tamis::cli {
namespace {

constexpr std::int64_t run = 128;  // tokens

/// One KV head of the trace.
struct Source {
  const lab::LayerData* data;
  const Shape* shape;
  std::int64_t kv_head;
};

/// Reads as many layers as are needed for `wanted` KV heads, or all layers if there are fewer
/// heads.
class Sources {
 public:
  Sources(const lab::Trace& trace, std::int64_t wanted) {
    data_.reserve(trace.layers().size());
    for (const lab::TraceLayer& layer : trace.layers()) {
      if (std::ssize(all_) >= wanted) break;
      data_.push_back(trace.read(layer));
      for (std::int64_t h = 0; h < layer.shape.kv_heads; ++h)
        all_.push_back({&data_.back(), &layer.shape, h});
    }
  }
  [[nodiscard]] const Source& at(std::int64_t i) const {
    return all_[static_cast<std::size_t>(i % std::ssize(all_))];
  }

 private:
  std::vector<lab::LayerData> data_;  ///< never grows beyond what it reserved
  std::vector<Source> all_;
};

/// Returns which token of the trace stands at each of n places.
std::vector<std::int64_t> chosen_tokens(const Draws& draw, std::int64_t n, std::int64_t length) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t t = 0; t < run; ++t) tokens.push_back(t);
  const auto starts = static_cast<std::uint64_t>(length - 3 * run + 1);
  for (std::int64_t r = 0; std::ssize(tokens) < n - run; ++r) {
    const std::int64_t start = run + static_cast<std::int64_t>(draw.bits(r) % starts);
    for (std::int64_t t = 0; t < run && std::ssize(tokens) < n - run; ++t)
      tokens.push_back(start + t);
  }
  for (std::int64_t t = length - run; t < length; ++t) tokens.push_back(t);
  return tokens;
}

float element(const lab::Tensor& tensor, std::int64_t i) {
  const void* data = tensor.bytes().data();
  switch (tensor.info().dtype) {
    case DType::f16:
      return to_float(static_cast<const f16*>(data)[i]);
    case DType::bf16:
      return to_float(static_cast<const bf16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

void check_fit(const lab::Trace& trace, const BenchShape& shape) {
  const Shape& first = trace.layers().front().shape;
  const std::int64_t d = shape.heads.key_dim;
  for (const lab::TraceLayer& layer : trace.layers())
    if (layer.shape.head_dim != first.head_dim || layer.shape.value_dim != first.head_dim)
      throw Error(
          Code::input,
          fmt::format("{}: layer {} has head sizes {} and {}; a benchmark needs one "
                      "size for queries, keys and values of all layers",
                      trace.path(), layer.layer, layer.shape.head_dim, layer.shape.value_dim));
  if (d != first.head_dim && d != 2 * first.head_dim)
    throw Error(Code::usage,
                fmt::format("--dim {}: {} has heads of size {}, which give {} or, two joined, {}",
                            d, trace.path(), first.head_dim, first.head_dim, 2 * first.head_dim));
  if (trace.tokens() < 3 * run)
    throw Error(Code::input, fmt::format("{}: has {} tokens; a benchmark needs at least {}",
                                         trace.path(), trace.tokens(), 3 * run));
  if (shape.tokens < 2 * run)
    throw Error(Code::usage, fmt::format("--tokens {}: with --trace at least {} are needed",
                                         shape.tokens, 2 * run));
}

/// Returns the indices of the trace's queries, sorted by position.
std::vector<std::int64_t> order_of(const lab::Trace& trace) {
  std::vector<std::int64_t> order(trace.positions().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::ranges::stable_sort(
      order, {}, [&](std::int64_t i) { return trace.positions()[static_cast<std::size_t>(i)]; });
  return order;
}

}  // namespace

BenchData trace_data(const std::string& path, const BenchShape& shape, int threads) {
  const lab::Trace trace(path);
  check_fit(trace, shape);
  const Heads& heads = shape.heads;
  const std::int64_t d = heads.key_dim;
  const std::int64_t all = shape.batch * heads.kv_heads;
  const std::int64_t part_dim = trace.layers().front().shape.head_dim;
  const std::int64_t parts = d / part_dim;
  const Sources sources(trace, all + parts - 1);
  const std::vector<std::int64_t> order = order_of(trace);
  BenchData data;
  data.scale = trace.layers().front().shape.scale / std::sqrt(static_cast<float>(parts));
  data.k.resize(static_cast<std::size_t>(all * shape.tokens * d));
  data.v.resize(data.k.size());
  data.q.resize(static_cast<std::size_t>(shape.steps * shape.batch * heads.query_heads * d));
  on_threads(static_cast<std::size_t>(all), threads, [&](std::size_t index) {
    const auto head = static_cast<std::int64_t>(index);
    const auto tokens = chosen_tokens({shape.seed, index}, shape.tokens, trace.tokens());
    for (std::int64_t part = 0; part < parts; ++part) {
      const Source& from = sources.at(head + part);
      for (std::int64_t t = 0; t < shape.tokens; ++t) {
        const std::int64_t row =
            (from.kv_head * trace.tokens() + tokens[static_cast<std::size_t>(t)]) * part_dim;
        const std::int64_t to = (head * shape.tokens + t) * d + part * part_dim;
        for (std::int64_t c = 0; c < part_dim; ++c) {
          data.k[static_cast<std::size_t>(to + c)] = to_bf16(element(from.data->k, row + c));
          data.v[static_cast<std::size_t>(to + c)] = to_bf16(element(from.data->v, row + c));
        }
      }
      for (std::int64_t step = 0; step < shape.steps; ++step)
        for (std::int64_t g = 0; g < heads.group(); ++g) {
          // Where groups are larger than those of the trace, further query heads take the queries
          // of the same heads at earlier positions.
          const std::int64_t many = std::ssize(order);
          const std::int64_t back = g / from.shape->group() + shape.steps - 1 - step;
          const std::int64_t query = order[static_cast<std::size_t>(many - 1 - back % many)];
          const std::int64_t from_head =
              from.kv_head * from.shape->group() + g % from.shape->group();
          const std::int64_t to_head = head % heads.kv_heads * heads.group() + g;
          const float* q =
              from.data->q.data() + (from_head * from.shape->queries + query) * part_dim;
          std::copy_n(
              q, part_dim,
              data.q.data() +
                  ((step * shape.batch + head / heads.kv_heads) * heads.query_heads + to_head) * d +
                  part * part_dim);
        }
    }
  });
  return data;
}

}  // namespace tamis::cli
