#include "lab/realise/least_queries.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/realise/descent/neighbours.h"
#include "lab/realise/least_query.h"

namespace tamis::lab::realisation {
namespace {

/// Rows of many dimensions take long, and a cancelled loop first finishes the items it has begun.
std::int64_t rows_per_item(std::int64_t dim) { return std::clamp<std::int64_t>(512 / dim, 1, 64); }

/// Most passes over all keys; keys that are still too near after these are left to the
/// verification.
constexpr int most_passes = 12;
/// A relative margin above the solver's tolerance.
constexpr double spare = 1e-8;

double length_of(std::span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

class Rows {
 public:
  Rows(const Pattern& pattern, const Conditions& conditions, const Candidate& candidate,
       double unit)
      : pattern_(pattern),
        conditions_(conditions),
        candidate_(candidate),
        gap_(conditions.weak ? 1.0 : -std::log(conditions.eps1)),
        log_(conditions.weak ? 0 : pattern.value.size()) {
    for (std::size_t i = 0; i < log_.size(); ++i) log_[i] = std::log(pattern.value[i]);
    double longest = 0;
    for (std::int64_t j = 0; j < candidate.cols; ++j)
      longest = std::max(longest, length_of(keys().row(j)));
    // Two logits err in each condition. Weak conditions hold at any scale.
    per_length_ = 2 * static_cast<double>(candidate.dim + 2) * unit * longest;
  }

  [[nodiscard]] double gap() const { return gap_; }
  [[nodiscard]] View<const double> keys() const {
    return {candidate_.k.data(), candidate_.cols, candidate_.dim};
  }

  /// The shortest query of a row, given its other keys, with room for its own rounding. False if
  /// there is none.
  bool solve(std::int64_t row, std::span<const std::int32_t> others, LeastQuery& solver,
             std::span<double> q) const {
    RowProblem problem{keys(), pattern_.columns_of(row), {}, others, 0, 0};
    if (!conditions_.weak)
      problem.log = std::span(log_).subspan(static_cast<std::size_t>(pattern_.row_start[row]),
                                            problem.support.size());
    double room =
        candidate_.q.empty()
            ? 0
            : per_length_ * length_of({candidate_.q.data() + row * candidate_.dim, q.size()});
    if (!(room < gap_)) room = 0;
    for (int attempt = 0; attempt < 8; ++attempt) {
      problem.gap = (gap_ + room) * (1 + spare);
      problem.spread = (conditions_.eps2 - room) * (1 - spare);
      if ((!conditions_.weak && !(problem.spread > 0)) || !solver.solve(problem, q)) return false;
      const double needed = per_length_ * length_of(q);
      if (needed <= room || problem.support.size() == static_cast<std::size_t>(candidate_.cols))
        return true;
      // A longer query needs more room for rounding, and more room a longer query: take the fixed
      // point, if there is one.
      const double grows = needed / (gap_ + room);
      if (!(grows < 1)) return false;
      room = 1.001 * gap_ * grows / (1 - grows);
    }
    return false;
  }

  /// Lists every key that the row sees outside its support.
  void all_others(std::int64_t row, std::vector<std::int32_t>& others) const {
    const std::span<const std::int64_t> support = pattern_.columns_of(row);
    const std::int64_t seen = conditions_.causal ? row + 1 : candidate_.cols;
    others.clear();
    auto next = support.begin();
    for (std::int64_t j = 0; j < seen; ++j) {
      if (next != support.end() && *next == j) {
        ++next;
      } else {
        others.push_back(static_cast<std::int32_t>(j));
      }
    }
  }

 private:
  const Pattern& pattern_;
  const Conditions& conditions_;
  const Candidate& candidate_;
  double gap_;
  double per_length_ = 0;
  std::vector<double> log_;
};

/// Reports the number of rows solved, on the calling thread only.
class Report {
 public:
  Report(const ProgressCallback& callback, std::int64_t rows) : callback_(callback), rows_(rows) {}
  void solved(std::int64_t rows, int worker) {
    const std::int64_t done = solved_ += rows;
    if (worker == 0 && callback_ &&
        !callback_(static_cast<double>(std::min(done, rows_)), static_cast<double>(rows_)))
      core::fail(Code::cancelled,
                 "the search for the shortest queries was cancelled after {} of {} rows", done,
                 rows_);
  }

 private:
  const ProgressCallback& callback_;
  std::int64_t rows_;
  std::atomic<std::int64_t> solved_{0};
};

void first_impossible(std::atomic<std::int64_t>& first, std::int64_t row) {
  std::int64_t old = first;
  while ((old < 0 || row < old) && !first.compare_exchange_weak(old, row)) {
  }
}

/// Solves each row once, over all keys that it sees. This serves small problems.
std::int64_t solve_over_all(const Rows& rows, std::int64_t count, std::int64_t dim, int threads,
                            Report& report, std::vector<double>& q) {
  std::atomic<std::int64_t> impossible{-1};
  const std::int64_t size = rows_per_item(dim);
  core::parallel_for((count + size - 1) / size, threads, [&](std::int64_t item, int worker) {
    LeastQuery solver(dim);
    std::vector<std::int32_t> others;
    const std::int64_t first = item * size;
    const std::int64_t end = std::min(count, first + size);
    for (std::int64_t row = first; row < end; ++row) {
      rows.all_others(row, others);
      if (!rows.solve(row, others, solver, {q.data() + row * dim, static_cast<std::size_t>(dim)}))
        first_impossible(impossible, row);
    }
    report.solved(end - first, worker);
  });
  return impossible;
}

/// Solves each row over the keys that are near, then again with those that the solution brought
/// near, until there are none. This serves large problems.
class OverNear {
 public:
  OverNear(const Rows& rows, const Pattern& pattern, const Conditions& conditions,
           const Candidate& candidate, int threads)
      : rows_(rows),
        pattern_(pattern),
        dim_(candidate.dim),
        threads_(threads),
        neighbours_(pattern, conditions.causal),
        q_(candidate.rows, candidate.dim, tamis::kernels::kernels()),
        k_(candidate.cols, candidate.dim, tamis::kernels::kernels()),
        floor_(static_cast<std::size_t>(candidate.rows)),
        most_(floor_.size()),
        others_(floor_.size()) {
    k_.assign(candidate.k);
  }

  std::int64_t solve(const Candidate& candidate, Report& report, std::vector<double>& q) {
    q = candidate.q;
    std::atomic<std::int64_t> impossible{-1};
    for (int pass = 0; pass < most_passes; ++pass) {
      // The first lists are wide, so that later passes find little. Later ones are never narrow,
      // because the logits here are f32.
      near(q, (pass == 0 ? 1.4 : 1.2) * rows_.gap());
      std::atomic<bool> changed{false};
      core::parallel_for(neighbours_.parts(), threads_, [&](std::int64_t part, int worker) {
        LeastQuery solver(dim_);
        for (std::int64_t row = neighbours_.first_row(part); row < neighbours_.first_row(part + 1);
             ++row) {
          if (!add(others_[row], neighbours_.of(part, row)) && pass > 0) continue;
          changed = true;
          if (!rows_.solve(row, others_[row], solver,
                           {q.data() + row * dim_, static_cast<std::size_t>(dim_)}))
            first_impossible(impossible, row);
        }
        if (pass == 0)
          report.solved(neighbours_.first_row(part + 1) - neighbours_.first_row(part), worker);
      });
      if (!changed || impossible >= 0) break;
    }
    return impossible;
  }

 private:
  void near(const std::vector<double>& q, double wide) {
    q_.assign(q);
    core::parallel_for(neighbours_.parts(), threads_, [&](std::int64_t part, int) {
      for (std::int64_t row = neighbours_.first_row(part); row < neighbours_.first_row(part + 1);
           ++row) {
        float least = std::numeric_limits<float>::infinity();
        for (const std::int64_t j : pattern_.columns_of(row)) {
          float s = 0;
          for (std::int64_t c = 0; c < dim_; ++c) s += q_.row(row)[c] * k_.row(j)[c];
          least = std::min(least, s);
        }
        floor_[row] = least - static_cast<float>(wide);
      }
    });
    neighbours_.refresh(q_, k_, floor_, most_, threads_);
  }

  /// Replaces `others` by the union of two ascending lists; returns whether it grew.
  static bool add(std::vector<std::int32_t>& others, std::span<const std::int32_t> more) {
    std::vector<std::int32_t> all;
    all.reserve(others.size() + more.size());
    std::set_union(others.begin(), others.end(), more.begin(), more.end(), std::back_inserter(all));
    if (all.size() == others.size()) return false;
    others = std::move(all);
    return true;
  }

  const Rows& rows_;
  const Pattern& pattern_;
  std::int64_t dim_;
  int threads_;
  Neighbours neighbours_;
  Points q_, k_;
  std::vector<float> floor_, most_;
  std::vector<std::vector<std::int32_t>> others_;
};

}  // namespace

LeastQueries least_queries(const Pattern& pattern, const Conditions& conditions,
                           const Candidate& candidate, double unit, int threads,
                           const ProgressCallback& progress) {
  const Rows rows(pattern, conditions, candidate, unit);
  Report report(progress, pattern.rows);
  LeastQueries result;
  if (pattern.rows * pattern.cols <= most_pairs || candidate.q.empty()) {
    result.q.resize(static_cast<std::size_t>(pattern.rows * candidate.dim));
    result.impossible =
        solve_over_all(rows, pattern.rows, candidate.dim, threads, report, result.q);
  } else {
    result.impossible =
        OverNear(rows, pattern, conditions, candidate, threads).solve(candidate, report, result.q);
  }
  return result;
}

}  // namespace tamis::lab::realisation
