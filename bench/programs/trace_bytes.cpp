// Measures what attention over a cache in planes reads of a trace, and how close it comes to exact
// attention. Every query runs at its own position in the text, as a step of decoding. Prints
// Markdown.
//   tamis_bench_trace TRACE [QUERIES [LAYER]]
// With QUERIES, at most so many queries run, evenly spaced; with LAYER, one layer alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <tamis/attend.h>
#include <tamis/cache.h>
#include <tamis/lab/trace.h>

namespace {

using namespace tamis;
using namespace tamis::lab;

/// Settings of the cache and of attention.
struct Way {
  const char* budget;
  int bits;
  int look;
  double value_share;
};

double quantile(std::vector<double> x, double q) {
  if (x.empty()) return 0;
  std::ranges::sort(x);
  return x[static_cast<std::size_t>(q * static_cast<double>(x.size() - 1))];
}

float number(const Tensor& tensor, std::int64_t i) {
  const auto* bytes = tensor.bytes().data();
  if (tensor.info().dtype == DType::f16) return to_float(reinterpret_cast<const f16*>(bytes)[i]);
  if (tensor.info().dtype == DType::bf16) return to_float(reinterpret_cast<const bf16*>(bytes)[i]);
  return reinterpret_cast<const float*>(bytes)[i];
}

/// Returns attention of one query of one head in f64. It leaves out values whose weight is below
/// 1e-12 of the largest weight.
std::vector<double> exact(const TraceLayer& layer, const LayerData& data, std::int64_t tokens,
                          std::int64_t h, std::int64_t query, std::int64_t seen) {
  const Shape& shape = layer.shape;
  const std::int64_t kv = h / shape.group();
  const float* q = data.q.data() + (h * shape.queries + query) * shape.head_dim;
  std::vector<double> logit(static_cast<std::size_t>(seen));
  double most = -1e300;
  for (std::int64_t t = 0; t < seen; ++t) {
    double sum = 0;
    for (std::int64_t c = 0; c < shape.head_dim; ++c)
      sum += static_cast<double>(q[c]) * number(data.k, (kv * tokens + t) * shape.head_dim + c);
    logit[static_cast<std::size_t>(t)] = sum * shape.scale;
    most = std::max(most, sum * shape.scale);
  }
  std::vector<double> out(static_cast<std::size_t>(shape.value_dim));
  double z = 0;
  for (std::int64_t t = 0; t < seen; ++t) {
    const double e = std::exp(logit[static_cast<std::size_t>(t)] - most);
    z += e;
    if (e < 1e-12) continue;
    for (std::int64_t c = 0; c < shape.value_dim; ++c)
      out[static_cast<std::size_t>(c)] +=
          e * number(data.v, (kv * tokens + t) * shape.value_dim + c);
  }
  for (double& x : out) x /= z;
  return out;
}

/// The measurements for one way, over steps and KV heads or rows.
struct Measured {
  std::vector<double> bytes, look, keys, values, raw;  ///< shares of 16-bit keys and values
  std::vector<double> error;                           ///< true error, relative
  std::vector<double> certified;                       ///< certified error, relative
  std::vector<double> tau;                             ///< certified tau divided by eps
  std::array<double, 4> levels{}, value_levels{};      ///< by the deepest level read
  double counted = 0, centres = 0;  ///< keys in total; values read as their centre alone
  std::int64_t rows = 0, met = 0, dense = 0;
};

/// A query's position in the text and its index, ordered by position.
struct Place {
  std::int64_t seen;
  std::int64_t query;
};

struct Step {
  const TraceLayer& layer;
  const LayerData& data;
  std::int64_t query;
  const std::vector<std::vector<double>>& truth;  ///< exact output of each head
};

void measure(const Cache& cache, const Step& at, const Way& way, Workspace& workspace,
             Measured& to) {
  const Shape& shape = at.layer.shape;
  const Sequence sequence = 1;
  const std::int64_t one = 1;
  const Plan plan(cache, {{&sequence, 1}, {&one, 1}, {}});
  const Budget budget = parse_budget(way.budget);
  const auto heads = static_cast<std::size_t>(shape.query_heads);
  const auto d_v = static_cast<std::size_t>(shape.value_dim);
  std::vector<float> out(heads * d_v), lse(heads);
  std::vector<Certificate> certificates(heads);
  AttendOptions options;
  options.look = way.look;
  options.value_share = way.value_share;
  attend(
      cache, plan,
      {at.data.q.data() + at.query * shape.head_dim, DType::f32, 0, shape.queries * shape.head_dim},
      {&budget, 1}, options, workspace,
      {{out.data(), DType::f32, 0, shape.value_dim}, lse, certificates});
  for (std::size_t h = 0; h < heads; ++h) {
    const Certificate& c = certificates[h];
    double far = 0;
    double norm = 0;
    for (std::size_t i = 0; i < d_v; ++i) {
      const double x = at.truth[h][i];
      far += (out[h * d_v + i] - x) * (out[h * d_v + i] - x);
      norm += x * x;
    }
    to.error.push_back(std::sqrt(far / norm));
    to.certified.push_back(c.error / std::sqrt(norm));
    to.tau.push_back(c.tau / budget.eps);
    ++to.rows;
    to.met += c.reached == Reached::met ? 1 : 0;
    to.dense += c.dense != Dense::no ? 1 : 0;
    if (h % static_cast<std::size_t>(shape.group()) != 0) continue;
    const auto all = static_cast<double>(c.dense_bytes);
    const std::int64_t key_row = (shape.head_dim + 31) / 32 * 16;
    const std::int64_t value_row = (shape.value_dim + 31) / 32 * 16;
    std::int64_t keys = 0, values = 0;
    const int first = way.look == 2 ? 1 : 0;
    for (int l = 0; l < 4; ++l) {
      keys += std::max(0, l - first) * c.keys[l] * key_row;
      values += (l + 1) * c.values[l] * value_row;
      to.levels[static_cast<std::size_t>(l)] += static_cast<double>(c.keys[l]);
      to.value_levels[static_cast<std::size_t>(l)] += static_cast<double>(c.values[l]);
      to.counted += static_cast<double>(c.keys[l]);
    }
    to.centres += static_cast<double>(c.centre_values);
    const std::int64_t raw = (c.raw_keys * shape.head_dim + c.raw_values * shape.value_dim) * 2;
    to.bytes.push_back(static_cast<double>(c.bytes) / all);
    to.keys.push_back(static_cast<double>(keys) / all);
    to.values.push_back(static_cast<double>(values) / all);
    to.raw.push_back(static_cast<double>(raw) / all);
    to.look.push_back(static_cast<double>(c.bytes - keys - values - raw) / all);
  }
}

std::string row_of(const Way& way, const Measured& m) {
  const auto pair = [](const std::vector<double>& x, double unit) {
    return fmt::format("{:.4f} ({:.4f})", quantile(x, 0.5) * unit, quantile(x, 0.9) * unit);
  };
  std::string text = fmt::format(
      "| {}, {} bits, look {}, values {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2f} % |",
      way.budget, way.bits, way.look, way.value_share, pair(m.bytes, 1), pair(m.error, 100),
      pair(m.certified, 100), pair(m.tau, 1), pair(m.look, 1), pair(m.keys, 1), pair(m.values, 1),
      pair(m.raw, 1), 100 * static_cast<double>(m.met) / static_cast<double>(m.rows));
  for (const auto& levels : {m.levels, m.value_levels}) {
    for (const double x : levels) text += fmt::format(" {:.4f}", x / m.counted);
    text += " |";
  }
  return text + fmt::format(" {}/{} |\n", m.dense, m.rows);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: tamis_bench_trace TRACE [QUERIES [LAYER]]\n");
    return 2;
  }
  const Trace trace(argv[1]);
  const std::int64_t most = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  const std::int64_t only = argc > 3 ? std::atoll(argv[3]) : -1;
  const std::vector<Way> ways{{"mass:0.05", 12, 1, 0.4}, {"mass:0.05", 12, 2, 0.4},
                              {"mass:0.05", 16, 1, 0.4}, {"mass:0.02", 12, 1, 0.4},
                              {"mass:0.01", 16, 1, 0.4}, {"mass:0.05", 12, 1, 1}};
  std::vector<Measured> measured(ways.size());
  std::vector<Place> places;
  for (std::size_t i = 0; i < trace.seen().size(); ++i)
    places.push_back({trace.seen()[i], static_cast<std::int64_t>(i)});
  std::ranges::sort(places, {}, &Place::seen);
  const auto stride = std::max<std::size_t>(1, places.size() / static_cast<std::size_t>(most));
  Workspace workspace(1);
  for (const TraceLayer& layer : trace.layers()) {
    if (only >= 0 && layer.layer != only) continue;
    const LayerData data = trace.read(layer);
    const Shape& shape = layer.shape;
    const Heads heads{shape.query_heads, shape.kv_heads, shape.head_dim, shape.value_dim,
                      shape.scale};
    std::vector<Cache> caches;
    for (const int bits : {12, 16}) {
      CacheOptions options;
      options.bits = bits;
      options.dtype = shape.dtype;
      caches.emplace_back(heads, options);
      caches.back().add(1);
    }
    std::int64_t have = 0;
    for (std::size_t p = 0; p < places.size(); p += stride) {
      const Place& place = places[p];
      if (place.seen < 1) continue;
      const std::int64_t more = place.seen - have;
      const Sequence sequence = 1;
      const auto rows = [&](const Tensor& tensor, std::int64_t dim) {
        return Rows{tensor.bytes().data() + have * dim * size_of(shape.dtype),
                    shape.dtype,
                    dim,
                    trace.tokens() * dim,
                    1,
                    0};
      };
      for (Cache& cache : caches)
        if (more > 0)
          cache.append({&sequence, 1}, {&more, 1}, rows(data.k, shape.head_dim),
                       rows(data.v, shape.value_dim), workspace);
      have = place.seen;
      std::vector<std::vector<double>> truth;
      for (std::int64_t h = 0; h < shape.query_heads; ++h)
        truth.push_back(exact(layer, data, trace.tokens(), h, place.query, place.seen));
      for (std::size_t w = 0; w < ways.size(); ++w)
        measure(caches[ways[w].bits == 16 ? 1 : 0], {layer, data, place.query, truth}, ways[w],
                workspace, measured[w]);
    }
  }
  fmt::print(
      "Median (p90); bytes per KV head and step, everything counted, as a share of 16-bit keys and "
      "values; errors in %.\n\n"
      "| way | bytes | true error | certified error | tau/eps | look | deeper keys | values | raw "
      "| met | keys by level | values by level | dense |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (std::size_t w = 0; w < ways.size(); ++w) fmt::print("{}", row_of(ways[w], measured[w]));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "tamis_bench_trace: {}\n", error.what());
  return 1;
}
