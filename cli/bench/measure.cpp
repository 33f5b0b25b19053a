#include "bench/measure.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include <tamis/attention.h>

#include "attend/blocks.h"
#include "attend/threads.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The most steps whose results are compared with f64, for one KV head each. The comparison takes
/// about a second and shows the errors.
constexpr std::int64_t most_checked_steps = 8;
/// Tokens that are appended one at a time: eight whole blocks, so that the mean includes the cost
/// of coding.
constexpr std::int64_t tokens_alone = 1024;

/// Empties the CPU's caches by reading more than they hold.
class Eviction {
 public:
  explicit Eviction(int threads) : threads_(threads) {
    const long last_level = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    const auto bytes =
        std::clamp<std::size_t>(last_level > 0 ? 2 * static_cast<std::size_t>(last_level) : 0,
                                std::size_t{64} << 20, std::size_t{1} << 30);
    memory_.assign(bytes / sizeof(std::uint64_t), 1);
  }
  void operator()() const {
    on_threads(static_cast<std::size_t>(threads_), threads_, [&](std::size_t) {
      volatile const std::uint64_t sum =
          std::accumulate(memory_.begin(), memory_.end(), std::uint64_t{0});
      (void)sum;
    });
  }

 private:
  int threads_;
  std::vector<std::uint64_t> memory_;
};

/// A cache that holds the sequences of the benchmark.
class Filled {
 public:
  Filled(const BenchShape& shape, const BenchData& data, int bits)
      : shape_(shape), data_(data), cache_(shape.heads, options(bits)) {
    for (std::int64_t s = 0; s < shape.batch; ++s) {
      sequences_.push_back(static_cast<Sequence>(s));
      cache_.add(sequences_.back());
    }
  }

  void append(std::int64_t tokens, Workspace& workspace) {
    const std::int64_t at = cache_.tokens(0);
    const std::vector<std::int64_t> many(sequences_.size(), tokens);
    cache_.append(sequences_, many, rows(data_.k, at), rows(data_.v, at), workspace);
  }
  [[nodiscard]] const Cache& cache() const { return cache_; }
  [[nodiscard]] std::span<const Sequence> sequences() const { return sequences_; }

 private:
  static CacheOptions options(int bits) {
    CacheOptions options;
    options.bits = bits;
    return options;
  }
  [[nodiscard]] Rows rows(const std::vector<bf16>& x, std::int64_t at) const {
    const std::int64_t d = shape_.heads.key_dim;
    return {x.data() + at * d, DType::bf16, d,
            shape_.tokens * d, 1,           shape_.heads.kv_heads * shape_.tokens * d};
  }

  const BenchShape& shape_;
  const BenchData& data_;
  Cache cache_;
  std::vector<Sequence> sequences_;
};

void fill(const BenchShape& shape, const BenchData& data, Filled& filled, Workspace& workspace,
          Progress& progress, Measured& measured) {
  progress.enter(bench_append);
  const std::int64_t alone = std::min(tokens_alone, shape.tokens / 2);
  const double each = static_cast<double>(shape.batch);
  auto begin = Clock::now();
  for (std::int64_t left = shape.tokens - alone; left > 0;) {
    stop_if_interrupted();
    const std::int64_t count = std::min(tokens_per_call, left);
    filled.append(count, workspace);
    left -= count;
    progress.advance(static_cast<double>(count));
  }
  measured.prompt_us =
      1e6 * seconds_since(begin) /
      (each * static_cast<double>(std::max<std::int64_t>(1, shape.tokens - alone)));
  begin = Clock::now();
  for (std::int64_t t = 0; t < alone; ++t) filled.append(1, workspace);
  if (alone > 0)
    measured.append_us = 1e6 * seconds_since(begin) / (each * static_cast<double>(alone));
  progress.advance(static_cast<double>(alone));
  const Cache& cache = filled.cache();
  measured.cache_bytes = cache.bytes() - cache.free_bytes();
  measured.cache_share = static_cast<double>(measured.cache_bytes) /
                         static_cast<double>(sizeof(bf16) * (data.k.size() + data.v.size()));
}

/// Computes a step in both ways, dense and sparse.
class Contest {
 public:
  Contest(const BenchShape& shape, const BenchData& data, const BenchSettings& settings,
          const Filled& filled, Workspace& workspace)
      : shape_(shape),
        data_(data),
        settings_(settings),
        filled_(filled),
        workspace_(workspace),
        counts_(static_cast<std::size_t>(shape.batch), 1),
        plan_(filled.cache(), {filled.sequences(), counts_, {}}),
        pages_(DType::bf16, data.k.data(), data.v.data(), shape.batch * shape.heads.kv_heads,
               shape.tokens, shape.heads.key_dim, shape.heads.value_dim),
        rows_(shape.batch * shape.heads.query_heads),
        out_(static_cast<std::size_t>(rows_ * shape.heads.value_dim)),
        lse_(static_cast<std::size_t>(rows_)),
        certificates_(static_cast<std::size_t>(rows_)) {}

  double dense(std::int64_t step) {
    Shape all;
    all.query_heads = rows_;
    all.kv_heads = shape_.batch * shape_.heads.kv_heads;
    all.head_dim = all.value_dim = shape_.heads.key_dim;
    all.dtype = DType::bf16;
    all.scale = shape_.heads.scale;
    const auto begin = Clock::now();
    tamis::dense(all, {queries(step), rows_, all.head_dim}, pages_.heads(), {}, workspace_,
                 {out_.data(), rows_, all.value_dim}, lse_);
    return 1e3 * seconds_since(begin);
  }

  double sparse(std::int64_t step) {
    const std::int64_t d = shape_.heads.key_dim;
    const std::int64_t stride = shape_.heads.query_heads * d;
    const auto begin = Clock::now();
    tamis::attend(filled_.cache(), plan_, {queries(step), DType::f32, stride, d},
                  {&settings_.budget, 1}, settings_.attend, workspace_,
                  {{out_.data(), DType::f32, stride, d}, lse_, certificates_});
    return 1e3 * seconds_since(begin);
  }

  /// Adds what the last sparse step read and certified.
  void record(Measured& measured) const {
    measured.certificates.insert(measured.certificates.end(), certificates_.begin(),
                                 certificates_.end());
    for (std::size_t row = 0; row < certificates_.size();
         row += static_cast<std::size_t>(shape_.heads.group()))
      measured.byte_shares.push_back(static_cast<double>(certificates_[row].bytes) /
                                     static_cast<double>(certificates_[row].dense_bytes));
  }

  /// Compares the rows of one KV head of the last sparse step, `step`, with f64.
  void check(std::int64_t step, Measured& measured) const {
    const Heads& heads = shape_.heads;
    const std::int64_t d = heads.key_dim;
    const std::int64_t group = heads.group();
    const std::int64_t head = (step * 7) % (shape_.batch * heads.kv_heads);
    Shape one;
    one.query_heads = group;
    one.head_dim = one.value_dim = d;
    one.dtype = DType::bf16;
    one.scale = heads.scale;
    std::vector<double> exact(static_cast<std::size_t>(group * d));
    std::vector<double> exact_lse(static_cast<std::size_t>(group));
    reference(one, {queries(step) + head * group * d, group, d},
              pages_.heads().subspan(static_cast<std::size_t>(head), 1), {},
              {exact.data(), group, d}, exact_lse);
    for (std::int64_t g = 0; g < group; ++g) {
      const auto row = static_cast<std::size_t>(head * group + g);
      double distance = 0;
      double norm = 0;
      for (std::int64_t c = 0; c < d; ++c) {
        const double x = exact[static_cast<std::size_t>(g * d + c)];
        const double y = out_[row * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)];
        distance += (x - y) * (x - y);
        norm += x * x;
      }
      distance = std::sqrt(distance);
      norm = std::sqrt(norm);
      measured.relative_errors.push_back(norm > 0 ? distance / norm : distance);
      const double off = std::abs(lse_[row] - exact_lse[static_cast<std::size_t>(g)]);
      // The reference itself errs by far less than 2⁻⁴⁰ of its numbers.
      if (!(distance <= certificates_[row].error + 0x1p-40 * norm) ||
          !(off <= certificates_[row].lse_error +
                       0x1p-40 * (1 + std::abs(exact_lse[static_cast<std::size_t>(g)]))))
        ++measured.violations;
    }
  }

 private:
  [[nodiscard]] const float* queries(std::int64_t step) const {
    return data_.q.data() + step * rows_ * shape_.heads.key_dim;
  }

  const BenchShape& shape_;
  const BenchData& data_;
  const BenchSettings& settings_;
  const Filled& filled_;
  Workspace& workspace_;
  std::vector<std::int64_t> counts_;
  Plan plan_;
  PageTables pages_;
  std::int64_t rows_;
  std::vector<float> out_;
  std::vector<float> lse_;
  std::vector<tamis::Certificate> certificates_;
};

}  // namespace

Measured measure(const BenchShape& shape, const BenchData& data, const BenchSettings& settings,
                 Workspace& workspace, Progress& progress) {
  Measured measured;
  Filled filled(shape, data, settings.bits);
  fill(shape, data, filled, workspace, progress, measured);
  Contest contest(shape, data, settings, filled, workspace);
  const Eviction evict(workspace.threads());
  progress.enter(bench_steps);
  contest.dense(0);  // untimed: threads start and scratch memory grows here
  contest.sparse(0);
  const std::int64_t between = std::max<std::int64_t>(1, shape.steps / most_checked_steps);
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    stop_if_interrupted();
    const auto dense = [&] {
      evict();
      measured.dense_ms.push_back(contest.dense(step));
    };
    // The two alternate in running first. The comparison uses what the sparse step left.
    if (step % 2 == 0) dense();
    evict();
    measured.sparse_ms.push_back(contest.sparse(step));
    contest.record(measured);
    if (step % between == 0) contest.check(step, measured);
    if (step % 2 == 1) dense();
    progress.advance(1);
  }
  return measured;
}

}  // namespace tamis::cli
