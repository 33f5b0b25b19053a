#include "support/certificates/planes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "cache/view.h"
#include "sieve/testing.h"
#include "support/cache/cache_oracle.h"

namespace tamis::test {
namespace {

/// The rows of all heads, one head after the other.
std::vector<std::byte> gathered(std::span<const KvPages> kv, bool keys, std::int64_t dim,
                                DType dtype) {
  const auto row = static_cast<std::size_t>(dim * size_of(dtype));
  std::vector<std::byte> all;
  for (const KvPages& head : kv) {
    const void* const* pages = keys ? head.k : head.v;
    const std::int64_t stride = (keys ? head.k_stride : head.v_stride) * size_of(dtype);
    for (std::int64_t t = 0; t < head.tokens; ++t) {
      const auto* at =
          static_cast<const std::byte*>(pages[t / page_tokens]) + t % page_tokens * stride;
      all.insert(all.end(), at, at + row);
    }
  }
  return all;
}

Heads heads_of(const Shape& shape) {
  return {static_cast<int>(shape.query_heads), static_cast<int>(shape.kv_heads), shape.head_dim,
          shape.value_dim, shape.scale};
}

}  // namespace

Cache PlanesProblem::made(const Problem& problem, CacheOptions options) {
  options.dtype = problem.shape().dtype;
  return {heads_of(problem.shape()), options};
}

PlanesProblem::PlanesProblem(const Problem& problem, CacheOptions options, const Happenings& may,
                             std::uint64_t seed)
    : shape(problem.shape()),
      cache(made(problem, options)),
      keys_(gathered(problem.kv(), true, shape.head_dim, shape.dtype)),
      values_(gathered(problem.kv(), false, shape.value_dim, shape.dtype)) {
  const std::int64_t tokens = problem.kv()[0].tokens;
  const auto rows_of = [&](const std::vector<std::byte>& bytes, std::int64_t dim) {
    return tamis::Rows{bytes.data(), shape.dtype, dim, tokens * dim, 1, 0};
  };
  std::mt19937_64 random(seed);
  Workspace workspace(1);
  live_through(cache, sequence,
               {tokens, rows_of(keys_, shape.head_dim), rows_of(values_, shape.value_dim)}, may,
               random, workspace);
  for (std::int64_t i = 0; i < shape.queries; ++i) {
    seen.push_back(problem.seen().empty() ? tokens : problem.seen()[static_cast<std::size_t>(i)]);
    for (std::int64_t h = 0; h < shape.query_heads; ++h) {
      const auto row = problem.q().row(h * shape.queries + i);
      q.insert(q.end(), row.begin(), row.end());
    }
  }
}

bool same_bits(const PlanesResult& a, const PlanesResult& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
  };
  if (a.certificates.size() != b.certificates.size()) return false;
  for (std::size_t r = 0; r < a.certificates.size(); ++r) {
    const tamis::Certificate& c = a.certificates[r];
    const tamis::Certificate& d = b.certificates[r];
    if (std::bit_cast<std::uint64_t>(c.tau) != std::bit_cast<std::uint64_t>(d.tau) ||
        std::bit_cast<std::uint64_t>(c.error) != std::bit_cast<std::uint64_t>(d.error) ||
        std::bit_cast<std::uint64_t>(c.lse_error) != std::bit_cast<std::uint64_t>(d.lse_error) ||
        c.reached != d.reached || c.dense != d.dense || c.bytes != d.bytes ||
        !std::ranges::equal(c.keys, d.keys) || !std::ranges::equal(c.values, d.values))
      return false;
  }
  return same(a.out, b.out) && same(a.lse, b.lse);
}

PlanesResult run_planes(const PlanesProblem& problem, const PlanesAsked& asked,
                        Workspace& workspace) {
  const Shape& shape = problem.shape;
  const std::int64_t rows = shape.queries * shape.query_heads;
  const Sequence sequence = PlanesProblem::sequence;
  const tamis::Plan plan(problem.cache, {{&sequence, 1}, {&shape.queries, 1}, problem.seen});
  PlanesResult result;
  result.tokens = problem.cache.tokens(sequence);
  result.out.resize(static_cast<std::size_t>(rows * shape.value_dim));
  result.lse.resize(static_cast<std::size_t>(rows));
  result.certificates.resize(static_cast<std::size_t>(rows));
  result.weights.resize(static_cast<std::size_t>(rows * result.tokens));
  const std::vector<std::byte> queries = bytes_of(asked.queries, problem.q);
  std::vector<std::byte> out(result.out.size() * 4);
  sieve::attend_telling(
      problem.cache, plan,
      {queries.data(), asked.queries, shape.query_heads * shape.head_dim, shape.head_dim},
      asked.budgets, asked.options, workspace,
      {{out.data(), asked.out, shape.query_heads * shape.value_dim, shape.value_dim},
       result.lse,
       result.certificates},
      {result.weights.data(), result.tokens});
  for (std::size_t i = 0; i < result.out.size(); ++i) {
    if (asked.out == DType::f32) {
      std::memcpy(&result.out[i], out.data() + 4 * i, 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, out.data() + 2 * i, 2);
      result.out[i] = asked.out == DType::f16 ? to_float(f16{bits}) : to_float(bf16{bits});
    }
  }
  return result;
}

namespace {

using tamis::Certificate;
using tamis::Reached;

/// The rows that share one pass over the stored tokens, and what is stored of the tokens they see.
class Pass {
 public:
  Pass(const PlanesProblem& problem, const PlanesAsked& asked, const PlanesResult& result,
       std::int64_t kv_head, std::int64_t first, std::int64_t count)
      : problem_(problem), asked_(asked), result_(result) {
    const Shape& shape = problem.shape;
    for (std::int64_t r = first; r < first + count; ++r) {
      const std::int64_t query = r / shape.group();
      rows.push_back(query * shape.query_heads + kv_head * shape.group() + r % shape.group());
      seen = std::max(seen, problem.seen[static_cast<std::size_t>(query)]);
    }
    const cache::SequenceView view = cache::view_of(problem.cache, PlanesProblem::sequence);
    for (const cache::RawRun& run : view.raw)
      for (std::int64_t i = 0; i < run.count; ++i)
        raw += run.first + (run.place != nullptr ? run.place[i] : i) < seen ? 1 : 0;
    for (const cache::CodedBlock& block : view.blocks) {
      if (block.first >= seen) break;
      ++blocks;
      levels = std::max(levels, block.levels);
      least_levels = std::min(least_levels, block.levels);
    }
  }

  /// Checks the counts of keys, values and bytes in one row's certificate; returns a fault, or "".
  [[nodiscard]] std::string counts(std::int64_t row) const {
    const Certificate& c = certificate(row);
    std::int64_t keys = c.raw_keys;
    std::int64_t values = c.raw_values + c.centre_values;
    for (std::size_t l = 0; l < 4; ++l) {
      keys += c.keys[l];
      values += c.values[l];
      if (c.keys[l] < 0 || c.values[l] < 0)
        return fmt::format("a count of level {} is negative", l);
      if (static_cast<int>(l) >= levels && (c.keys[l] != 0 || c.values[l] != 0))
        return fmt::format("something was read to level {} of {}", l, levels);
    }
    if (c.raw_keys != raw || c.raw_values != raw)
      return fmt::format("{} raw keys and {} raw values of {}", c.raw_keys, c.raw_values, raw);
    if (keys != seen || values != seen || c.centre_values < 0)
      return fmt::format("{} keys and {} values of {} seen", keys, values, seen);
    if (const std::int64_t expected = bytes(c); c.bytes != expected)
      return fmt::format("{} bytes; from its counts {}", c.bytes, expected);
    const std::int64_t dims = problem_.shape.head_dim + problem_.shape.value_dim;
    if (c.dense_bytes != seen * dims * 2) return fmt::format("{} dense bytes", c.dense_bytes);
    // Rows that see no key have zero counts.
    const Certificate& first = certificate(rows.back());
    if (first.dense_bytes != 0 &&
        (first.bytes != c.bytes || !std::ranges::equal(first.keys, c.keys) ||
         !std::ranges::equal(first.values, c.values)))
      return "rows that share the reading count differently";
    return "";
  }

  [[nodiscard]] std::string reached(std::int64_t row) const {
    const Certificate& c = certificate(row);
    const Budget& budget = budget_of(row);
    if (c.reached == Reached::not_finite) return "it says not finite";
    if (budget.kind == Budget::Kind::mass) {
      if ((c.reached == Reached::met) != (c.tau <= budget.eps))
        return fmt::format("tau is {} and it says: {}", c.tau, words_for(c.reached));
      // Keys whose weight underflows to zero in f32 need not be read to the last level, nor keys
      // that this row does not see but others in the pass do.
      const std::int64_t own =
          problem_.seen[static_cast<std::size_t>(row / problem_.shape.query_heads)];
      std::int64_t left = 0;
      for (int l = 0; l + 1 < least_levels; ++l) left += c.keys[l];
      if (c.reached == Reached::stored_bits && blocks > 0 && left > 0 &&
          left > weightless() + seen - own)
        return fmt::format("{} keys were left above level {}, of which {} have no weight", left,
                           least_levels - 1, weightless());
      return "";
    }
    if (budget.kind == Budget::Kind::bytes) {
      double share = 0;  // the largest byte budget among the rows of this pass
      for (const std::int64_t r : rows) share = std::max(share, budget_of(r).share);
      const bool kept = static_cast<double>(c.bytes) <= share * static_cast<double>(c.dense_bytes);
      if (kept && c.reached != Reached::met) return "it kept its budget and denies it";
      if (!kept && c.reached == Reached::met && share <= budget.share)
        return "it says met and read more";
      const int look = looked_at_two() ? 2 : 1;
      if (!kept && c.dense == Dense::no)
        for (int l = 0; l < 4; ++l)
          if ((l >= look && c.keys[l] != 0) || c.values[l] != 0)
            return "it exceeded its budget by more than the look";
    }
    return "";
  }

  std::vector<std::int64_t> rows;
  std::int64_t seen = 0;
  std::int64_t raw = 0;
  std::int64_t blocks = 0;
  int levels = 0;
  int least_levels = 4;

 private:
  [[nodiscard]] const Certificate& certificate(std::int64_t row) const {
    return result_.certificates[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const Budget& budget_of(std::int64_t row) const {
    const auto head = static_cast<std::size_t>(row % problem_.shape.query_heads);
    return asked_.budgets[asked_.budgets.size() == 1 ? 0 : head];
  }
  [[nodiscard]] std::int64_t bytes(const Certificate& c) const {
    Reads reads;
    reads.raw_keys = c.raw_keys;
    reads.raw_values = c.raw_values;
    if (c.dense != Dense::no) {
      const Heads heads = heads_of(problem_.shape);
      std::int64_t all = bytes_of(reads, heads, size_of(problem_.shape.dtype));
      const cache::SequenceView view = cache::view_of(problem_.cache, PlanesProblem::sequence);
      for (std::int64_t b = 0; b < blocks; ++b)
        all += bytes_of_block(view.blocks[static_cast<std::size_t>(b)].levels, heads);
      return all;
    }
    reads.blocks = blocks;
    std::ranges::copy(c.keys, reads.keys.begin());
    std::ranges::copy(c.values, reads.values.begin());
    // A look at two planes reads both planes of a whole block of 128 tokens.
    const bool two = c.keys[0] == 0 && looked_at_two();
    if (two) reads.keys[1] = 128 * blocks - c.keys[2] - c.keys[3];
    return bytes_of(reads, heads_of(problem_.shape), size_of(problem_.shape.dtype));
  }
  /// Number of tokens seen that have weight zero in every row.
  [[nodiscard]] std::int64_t weightless() const {
    std::int64_t count = 0;
    for (std::int64_t t = 0; t < seen; ++t)
      count += std::ranges::all_of(rows, [&](std::int64_t r) {
        return result_.weights[static_cast<std::size_t>(r * result_.tokens + t)] == 0;
      });
    return count;
  }
  [[nodiscard]] bool looked_at_two() const {
    const Budget::Kind kind = asked_.budgets[0].kind;
    const AttendOptions& options = asked_.options;
    if (kind != Budget::Kind::mass && kind != Budget::Kind::bytes) return false;
    if (options.look > 0) return options.look == 2;
    return kind == Budget::Kind::mass && options.prefer == Prefer::time;
  }

  const PlanesProblem& problem_;
  const PlanesAsked& asked_;
  const PlanesResult& result_;
};

class Checker {
 public:
  Checker(const Oracle& oracle, const PlanesProblem& problem, const PlanesAsked& asked,
          const PlanesResult& result)
      : oracle_(oracle), problem_(problem), asked_(asked), result_(result) {}

  Report run() {
    const Shape& shape = problem_.shape;
    const std::int64_t per_head = shape.queries * shape.group();
    const std::int64_t at_once = per_head > most_sparse_rows ? per_head : pass_rows;
    for (std::int64_t head = 0; head < shape.kv_heads; ++head)
      for (std::int64_t first = 0; first < per_head; first += at_once) {
        const Pass pass(problem_, asked_, result_, head, first,
                        std::min(at_once, per_head - first));
        for (const std::int64_t row : pass.rows) check(pass, row);
      }
    return report_;
  }

 private:
  void check(const Pass& pass, std::int64_t row) {
    const Shape& shape = problem_.shape;
    const auto r = static_cast<std::size_t>(row);
    const auto d_v = static_cast<std::size_t>(shape.value_dim);
    const ExactRow& exact =
        oracle_[row % shape.query_heads * shape.queries + row / shape.query_heads];
    const Certificate& c = result_.certificates[r];
    const auto out = std::span(result_.out).subspan(r * d_v, d_v);
    ++report_.records;
    violated_ = false;
    say("claim", row, false_claim(exact, out, result_.lse[r], c));
    if (exact.weights.empty()) return;
    const bool sparse = c.dense == Dense::no;
    ++(sparse ? report_.sparse : report_.dense);
    for (const float x : out)
      if (!std::isfinite(x) && asked_.out != DType::f16)
        say("numbers", row, fmt::format("the output holds {}", x));
    say("counts", row, pass.counts(row));
    say("reached", row, pass.reached(row));
    double tau = 0;
    if (sparse) {
      const auto tokens = static_cast<std::size_t>(result_.tokens);
      const auto all = std::span(result_.weights).subspan(r * tokens, tokens);
      for (std::size_t t = exact.weights.size(); t < tokens; ++t)
        if (all[t] != 0) say("unseen", row, fmt::format("token {} has weight and is not seen", t));
      const std::vector<float> weights(all.begin(), all.begin() + std::ssize(exact.weights));
      tau = total_variation(weights, exact);
      say("tau", row, false_tau(exact, weights, c.tau));
    }
    if (exact.tau_slack > c.tau || exact.error_slack > c.error || exact.lse_slack > c.lse_error)
      ++report_.blind;
    if (!sparse) return;
    if (c.tau >= 1) ++report_.empty;
    if (tau > exact.tau_slack) report_.tau.add(c.tau / tau);
    if (const double far = distance(out, exact); far > exact.error_slack)
      report_.error.add(c.error / far);
  }

  void say(const char* claim, std::int64_t row, const std::string& what) {
    if (what.empty()) return;
    if (!violated_) ++report_.violations;
    violated_ = true;
    const auto head = static_cast<std::size_t>(row % problem_.shape.query_heads);
    const Budget& budget = asked_.budgets[asked_.budgets.size() == 1 ? 0 : head];
    report_.examples.emplace(
        claim,
        fmt::format("{} in row {} with {}, {} bits, look {}: {}", claim, row, to_string(budget),
                    problem_.cache.options().bits, asked_.options.look, what));
  }

  const Oracle& oracle_;
  const PlanesProblem& problem_;
  const PlanesAsked& asked_;
  const PlanesResult& result_;
  Report report_;
  bool violated_ = false;
};

}  // namespace

Report check_planes(const Oracle& oracle, const PlanesProblem& problem, const PlanesAsked& asked,
                    const PlanesResult& result) {
  return Checker(oracle, problem, asked, result).run();
}

std::vector<Budget> planes_budgets() {
  std::vector<Budget> budgets;
  for (const char* text :
       {"mass:0.9", "mass:0.3", "mass:0.05", "mass:0.01", "mass:1e-5", "mass:1e-9", "bytes:0.01",
        "bytes:0.2", "bytes:0.3", "bytes:0.6", "bytes:1", "topk:1", "topk:60", "topk:100000",
        "power:2,0.5", "power:1,1", "window:1,0", "window:100,4", "window:100000,0"})
    budgets.push_back(parse_budget(text));
  return budgets;
}

}  // namespace tamis::test
