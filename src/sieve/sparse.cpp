#include "sieve/sparse.h"

#include <algorithm>

#include "core/fail.h"
#include "sieve/dense/dense.h"
#include "sieve/dropping.h"
#include "sieve/testing.h"
#include "sieve/waterline.h"

namespace tamis::sieve {
namespace {

/// How the budgets of a problem, which are of one kind, decide what is read.
enum class Rule : std::uint8_t {
  lower_until_proved,  ///< waterlines fall until every row's τ is at most its eps
  raise_until_within,  ///< waterlines rise until the bytes read are within the budget
  leave_keys_out,      ///< only some keys are used, as dropping.h says
};

Rule rule_of(const Problem& problem) {
  switch (problem.row[0].budget->kind) {
    case Budget::Kind::mass:
      return Rule::lower_until_proved;
    case Budget::Kind::bytes:
      return Rule::raise_until_within;
    case Budget::Kind::topk:
    case Budget::Kind::power:
    case Budget::Kind::window:
      return Rule::leave_keys_out;
  }
  core::fail(Code::internal, "a budget has an unknown kind");
}

int planes_of_look(const Problem& problem) {
  const Rule rule = rule_of(problem);
  if (rule == Rule::leave_keys_out) return 1;
  if (problem.options.look > 0) return problem.options.look;
  return rule == Rule::lower_until_proved && problem.options.prefer == Prefer::time ? 2 : 1;
}

/// The results of the stages of a problem.
struct Kept {
  Kept(const Problem& problem, int planes, Arena& arena)
      : look(problem, planes, arena),
        visits(problem, arena),
        raw_out(arena.take<float>(problem.rows * problem.layout.value_d32)),
        out(arena.take<float>(problem.rows * problem.layout.value_dim)),
        dropping(arena.take<float>(
            rule_of(problem) == Rule::leave_keys_out ? dropping_floats(problem) : 0)) {}
  Look look;
  Visits visits;
  float* raw_out;
  float* out;
  float* dropping;
};

/// The share of a mass budget with which a waterline is planned. Weights change when they are
/// sharpened, so that a waterline planned with the whole budget would miss it half of the time.
constexpr double planned_share = 0.995;
constexpr int most_attempts = 6;

void visit_all(const Problem& problem, const Kept& kept, const Waterline& line,
               const Threads& threads) {
  core::parallel_for(problem.spans(), threads.crew, [&](std::int64_t span, int worker) {
    visit_span(problem, kept.look, line, span, threads.scratch(threads.context, worker),
               kept.visits);
  });
}

/// Visits with lower and lower waterlines until every row's τ is at most its eps, or until all
/// stored bits of its keys have been read.
Waterline visit_for_mass(const Problem& problem, const RawResult& raw, const Kept& kept,
                         const Threads& threads) {
  std::array<double, most_rows> share;
  share.fill(planned_share);
  Waterline line;
  for (int attempt = 1;; ++attempt) {
    line =
        waterline_for_mass(problem, kept.look, raw.row, share, threads.scratch(threads.context, 0));
    visit_all(problem, kept, line, threads);
    bool again = false;
    for (int r = 0; r < problem.rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const double eps = problem.row[i].budget->eps;
      if (problem.row[i].seen == 0 || line.key[i] == 0) continue;
      const double tau =
          tau_of(problem, raw, total_of(problem, raw, kept.visits, line.reference[i], r));
      if (tau <= eps) continue;
      share[i] = attempt < most_attempts ? share[i] * 0.9 * (eps / tau) : 0;
      again = true;
    }
    if (!again) return line;
  }
}

/// Bytes that are read before the visit: raw tokens and the look.
std::int64_t bytes_before(const Problem& problem, const RawResult& raw, int planes) {
  const cache::Layout& layout = problem.layout;
  const std::size_t look = layout.record_bytes + (planes == 2 ? layout.key_plane_bytes : 0);
  return raw.keys * (layout.key_dim + layout.value_dim) * size_of(problem.dtype) +
         problem.blocks * static_cast<std::int64_t>(look);
}

std::int64_t bytes_of(const Problem& problem, const Reads& reads) {
  std::int64_t bytes = 0;
  for (std::size_t p = 0; p < reads.key_rows.size(); ++p)
    bytes += reads.key_rows[p] * problem.layout.key_row() +
             reads.value_rows[p] * problem.layout.value_row();
  return bytes;
}

std::int64_t dense_bytes(const Problem& problem) {
  return problem.seen * (problem.layout.key_dim + problem.layout.value_dim) * 2;
}

Reads reads_of(const Problem& problem, const Visits& visits) {
  Reads all;
  for (std::int64_t span = 0; span < problem.spans(); ++span) all += visits.reads[span];
  return all;
}

/// Visits with higher and higher waterlines until the bytes read are within the budget.
Waterline visit_for_bytes(const Problem& problem, const RawResult& raw, const Kept& kept,
                          const Threads& threads) {
  double share = 0;
  for (int r = 0; r < problem.rows; ++r)
    share = std::max(share, problem.row[static_cast<std::size_t>(r)].budget->share);
  const auto left = share * static_cast<double>(dense_bytes(problem)) -
                    static_cast<double>(bytes_before(problem, raw, kept.look.planes));
  double planned = left;
  for (int attempt = 1;; ++attempt) {
    Waterline line = waterline_for_bytes(problem, kept.look, raw.row, planned);
    if (left <= 0 || attempt == most_attempts) {
      line.key.fill(0x1p100);
      line.value.fill(0x1p100);
    }
    visit_all(problem, kept, line, threads);
    const auto read = static_cast<double>(bytes_of(problem, reads_of(problem, kept.visits)));
    if (read <= left || read == 0) return line;
    planned *= 0.95 * left / read;
  }
}

Certificate counts_of(const Problem& problem, const RawResult& raw, const Look& look,
                      const Reads& reads) {
  Certificate c;
  c.raw_keys = c.raw_values = raw.keys;
  const auto first = static_cast<std::size_t>(look.planes - 1);
  const auto end = static_cast<std::size_t>(cache::most_levels);
  std::int64_t rest = problem.seen - raw.keys;
  for (std::size_t l = first; l < end; ++l) {
    const std::int64_t deeper = l + 1 < end ? reads.key_rows[l + 1] : 0;
    c.keys[l] = rest - deeper;
    rest = deeper;
  }
  c.centre_values = problem.seen - raw.keys - reads.value_rows[0];
  for (std::size_t l = 0; l < end; ++l)
    c.values[l] = reads.value_rows[l] - (l + 1 < end ? reads.value_rows[l + 1] : 0);
  c.bytes = bytes_before(problem, raw, look.planes) + bytes_of(problem, reads);
  c.dense_bytes = dense_bytes(problem);
  return c;
}

}  // namespace

std::int64_t sparse_floats(const Problem& problem) {
  Arena arena(nullptr);
  const Kept kept(problem, planes_of_look(problem), arena);
  return arena.floats();
}

std::int64_t sparse_scratch(const Problem& problem) {
  return std::max({look_scratch(problem), waterline_scratch(problem), visit_scratch(problem),
                   raw_scratch(problem), certify_scratch(problem)});
}

Outcome attend_sparse(const Problem& problem, float* memory, const Threads& threads) {
  Arena arena(memory);
  const Kept kept(problem, planes_of_look(problem), arena);
  float* scratch = threads.scratch(threads.context, 0);
  const RawResult raw = attend_raw(problem, scratch, kept.raw_out);
  core::parallel_for(problem.spans(), threads.crew, [&](std::int64_t span, int worker) {
    look_span(problem, span, threads.scratch(threads.context, worker), kept.look);
  });
  Outcome failed{kept.out, {}, {}, false};
  const auto yes = [](bool x) { return x; };
  if (!std::all_of(raw.finite.begin(), raw.finite.begin() + problem.rows, yes) ||
      !std::all_of(kept.look.sane, kept.look.sane + problem.spans(), yes))
    return failed;
  std::array<double, most_rows> reference;
  switch (rule_of(problem)) {
    case Rule::lower_until_proved:
      reference = visit_for_mass(problem, raw, kept, threads).reference;
      break;
    case Rule::raise_until_within:
      reference = visit_for_bytes(problem, raw, kept, threads).reference;
      break;
    case Rule::leave_keys_out: {
      const auto expected = expected_of(problem, kept.look, raw.row);
      for (std::size_t i = 0; i < reference.size(); ++i) reference[i] = expected[i].reference;
      visit_some(problem, kept.look, kept.dropping, scratch, kept.visits);
      break;
    }
  }
  if (problem.told[0] != nullptr) tell_references(problem, kept.look, raw, reference);
  Outcome outcome = certify(problem, raw, kept.raw_out, kept.visits, reference, scratch, kept.out);
  const Certificate counts = counts_of(problem, raw, kept.look, reads_of(problem, kept.visits));
  for (int r = 0; r < problem.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (problem.row[i].seen == 0) {
      outcome.certificate[i] = {};
      continue;
    }
    Certificate c = counts;
    c.tau = outcome.certificate[i].tau;
    c.error = outcome.certificate[i].error;
    c.lse_error = outcome.certificate[i].lse_error;
    c.reached = reached_by(*problem.row[i].budget, c);
    outcome.certificate[i] = c;
  }
  return outcome;
}

}  // namespace tamis::sieve
