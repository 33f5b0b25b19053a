#include "lab/realise/jl/construction.h"

#include <cmath>

#include "core/fail.h"
#include "core/parallel.h"
#include "lab/realise/jl/search.h"

namespace tamis::lab::realisation {
namespace {

void check(const JlTarget& target, const JlOptions& options) {
  if (options.dim < 1 || options.dim > target.n)
    core::fail(Code::usage,
               "dimension {} is asked of the jl construction; for {} rows it may be 1 to {} (d = "
               "2m up to {})",
               options.dim, target.n, target.n, 2 * target.n);
  if (options.hidden != 0 && options.hidden < 2 * options.dim)
    core::fail(Code::usage,
               "the hidden size {} is below d = {}; it must be at least twice the dimension {}",
               options.hidden, 2 * options.dim, options.dim);
  if (options.redraws < 0)
    core::fail(Code::usage, "{} redraws are asked for; give at least 1, or 0 for as many as rows",
               options.redraws);
}

Inputs paper_form(const Candidate& candidate, std::int64_t hidden) {
  const std::int64_t n = candidate.rows;
  const std::int64_t m = candidate.dim;
  Inputs inputs{.hidden = hidden, .columns = 2 * m};
  inputs.x.assign(static_cast<std::size_t>(n * hidden), 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < m; ++c) {
      inputs.x[i * hidden + c] = candidate.q[i * m + c];
      inputs.x[i * hidden + m + c] = candidate.k[i * m + c];
    }
  inputs.w_q.assign(static_cast<std::size_t>(hidden * 2 * m), 0);
  inputs.w_k = inputs.w_q;
  for (std::int64_t c = 0; c < 2 * m; ++c) inputs.w_q[c * 2 * m + c] = 1;
  for (std::int64_t c = 0; c < m; ++c) inputs.w_k[(m + c) * 2 * m + c] = 1;
  return inputs;
}

}  // namespace

std::optional<JlWitness> jl_witness(const Pattern& pattern, const Conditions& conditions,
                                    const JlOptions& options, const ProgressCallback& progress) {
  const JlTarget target = jl_target(pattern, conditions);
  check(target, options);
  const std::int64_t n = target.n;
  const std::int64_t m = options.dim;
  const int threads = core::thread_count(options.threads);
  JlSearch search(target, options.seed, numbers::Purpose::jl, threads);
  const auto found = search.first(m, {0, options.redraws > 0 ? options.redraws : n}, progress);
  if (!found) return std::nullopt;

  JlWitness witness;
  witness.redraws = found->draw + 1;
  Candidate& candidate = witness.candidate;
  candidate.rows = candidate.cols = n;
  candidate.dim = m;
  candidate.q.resize(static_cast<std::size_t>(n * m));
  candidate.k = range_basis(found->projection, threads);
  const double scale = std::sqrt(static_cast<double>(n) / static_cast<double>(m));
  for (double& x : candidate.k) x *= scale;
  core::parallel_for(n, threads, [&](std::int64_t i, int) {
    double* q = candidate.q.data() + i * m;
    for (std::int64_t e = target.start[i]; e < target.start[i + 1]; ++e)
      for (std::int64_t c = 0; c < m; ++c)
        q[c] += target.b[e] * candidate.k[target.column[e] * m + c];
  });
  if (options.hidden > 0) candidate.inputs = paper_form(candidate, options.hidden);
  return witness;
}

}  // namespace tamis::lab::realisation
