#include "support/certificates/adversary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "support/certificates/hard_heads.h"
#include "support/oracle.h"
#include "support/targets.h"

namespace tamis::test {
namespace {

/// A head in the form that engines take, and its oracle.
class Posed {
 public:
  explicit Posed(const HardHead& head)
      : k_(bytes_of(head.shape.dtype, head.numbers.k)),
        v_(bytes_of(head.shape.dtype, head.numbers.v)),
        tables_(head.shape.dtype, k_.data(), v_.data(), 1, head.tokens, head.shape.head_dim,
                head.shape.value_dim),
        question_{head.shape,
                  {head.numbers.q.data(), head.shape.rows(), head.shape.head_dim},
                  tables_.heads(),
                  head.sinks,
                  head.tail},
        oracle_(head.shape, question_.q, question_.kv, {}) {}

  [[nodiscard]] const Question& question() const { return question_; }
  [[nodiscard]] const Oracle& oracle() const { return oracle_; }

 private:
  std::vector<std::byte> k_, v_;
  PageTables tables_;
  Question question_;
  Oracle oracle_;
};

/// One row of an answer: lower bounds on its true errors, which allow for the oracle's own
/// rounding, and the claims of its certificate.
struct Record {
  std::int64_t row = 0;
  double tau = 0, error = 0, lse = 0;
  Claims claims;

  /// False if a true error is NaN.
  [[nodiscard]] bool holds() const {
    return tau <= claims.tau && error <= claims.error && lse <= claims.lse_error;
  }
  [[nodiscard]] double ratio(std::size_t claim) const {
    const auto odds = [](double share) { return share / std::max(1 - share, 0x1p-53); };
    return claim == 0   ? odds(tau) / odds(claims.tau)
           : claim == 1 ? error / claims.error
                        : lse / claims.lse_error;
  }
};

Record record_of(const Posed& posed, const Certified& answer, std::int64_t r) {
  const auto row = static_cast<std::size_t>(r);
  const ExactRow& exact = posed.oracle()[r];
  const std::size_t keys = exact.weights.size();
  const std::size_t d_v = exact.out.size();
  Record record;
  record.row = r;
  record.claims = answer.claims[row];
  if (!answer.weights.empty())
    record.tau = total_variation(std::span(answer.weights).subspan(row * keys, keys), exact) -
                 exact.tau_slack;
  record.error = distance(std::span(answer.out).subspan(row * d_v, d_v), exact) - exact.error_slack;
  record.lse = static_cast<double>(std::abs(answer.lse[row] - exact.lse)) - exact.lse_slack;
  return record;
}

std::string text(const Posed& posed, const Record& r) {
  const Shape& shape = posed.question().shape;
  return fmt::format(
      "{} d = {}, {} tokens, row {}: tau {:.9g} of {:.9g}, error {:.9g} of {:.9g}, lse {:.9g} of "
      "{:.9g}{}",
      tamis::name_of(shape.dtype), shape.head_dim, posed.question().kv[0].tokens, r.row, r.tau,
      r.claims.tau, r.error, r.claims.error, r.lse, r.claims.lse_error,
      r.claims.sparse ? "" : ", dense");
}

std::mt19937_64 stream(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number) {
  return std::mt19937_64((seed * 0x9e3779b97f4a7c15U + purpose) * 0xbf58476d1ce4e5b9U + number);
}

/// The result of one way, and for each claim the number of the head that came nearest.
struct Line {
  Reached reached;
  std::array<std::int64_t, 3> head{};

  /// Adds an answer about the head with this number.
  void add(const Posed& posed, const Certified& answer, std::int64_t number) {
    for (std::int64_t r = 0; r < posed.question().shape.rows(); ++r) {
      const Record record = record_of(posed, answer, r);
      ++reached.records;
      reached.sparse += record.claims.sparse ? 1 : 0;
      if (!record.holds() && reached.violations++ == 0)
        reached.violation = fmt::format("head {}: {}", number, text(posed, record));
      if (record.holds() && !record.claims.sparse) continue;
      for (std::size_t c = 0; c < head.size(); ++c) {
        if (!(record.ratio(c) > reached.nearest[c])) continue;
        reached.nearest[c] = record.ratio(c);
        reached.where[c] = text(posed, record);
        head[c] = number;
      }
    }
  }
  void add(const Line& other) {
    for (std::size_t c = 0; c < head.size(); ++c)
      if (other.reached.nearest[c] > reached.nearest[c]) head[c] = other.head[c];
    reached.add(other.reached);
  }
};

HardHead head_of(const Attack& attack, std::int64_t number) {
  auto random = stream(attack.seed, 1, static_cast<std::uint64_t>(number));
  return draw_hard(random);
}

/// Starts from the head nearest to a violation of a claim and applies small changes, keeping those
/// that do not lead further away.
Line climb(const Way& way, std::size_t claim, const Line& start, const Attack& attack,
           std::uint64_t search) {
  Line line;
  if (!(start.reached.nearest[claim] > 0)) return line;
  const std::int64_t number = start.head[claim];
  double nearest = 0;
  HardHead at = head_of(attack, number);
  auto random = stream(attack.seed, 2, search);
  Workspace workspace(1);
  for (std::int64_t s = 0; s < attack.steps; ++s) {
    HardHead next = at;
    if (s > 0) change(next, random);
    const Posed posed(next);
    const auto answer = way.attend(posed.question(), workspace);
    if (!answer) continue;
    Line here;
    here.add(posed, *answer, number);
    line.add(here);
    if (here.reached.nearest[claim] < nearest) continue;
    nearest = here.reached.nearest[claim];
    at = std::move(next);
  }
  return line;
}

}  // namespace

void Reached::add(const Reached& other) {
  records += other.records;
  sparse += other.sparse;
  if (violations == 0) violation = other.violation;
  violations += other.violations;
  for (std::size_t c = 0; c < nearest.size(); ++c) {
    if (!(other.nearest[c] > nearest[c])) continue;
    nearest[c] = other.nearest[c];
    where[c] = other.where[c];
  }
}

std::vector<Reached> attack(std::span<const Way> ways, const Attack& attack,
                            const kernels::Kernels& kernels) {
  std::vector<Line> lines(ways.size());
  // Heads are taken 64 at a time, so that results can be added in the order of the heads.
  constexpr std::int64_t at_once = 64;
  for (std::int64_t first = 0; first < attack.heads; first += at_once) {
    const std::int64_t count = std::min(at_once, attack.heads - first);
    std::vector<Line> here(static_cast<std::size_t>(count) * ways.size());
    for_each_item(kernels, count, attack.threads, [&](std::int64_t i) {
      const HardHead head = head_of(attack, first + i);
      const Posed posed(head);
      Workspace workspace(1);
      for (std::size_t w = 0; w < ways.size(); ++w)
        if (const auto answer = ways[w].attend(posed.question(), workspace))
          here[static_cast<std::size_t>(i) * ways.size() + w].add(posed, *answer, first + i);
    });
    for (std::size_t i = 0; i < here.size(); ++i) lines[i % ways.size()].add(here[i]);
  }

  const std::size_t claims = claim_names.size();
  std::vector<Line> found(attack.steps > 0 ? ways.size() * claims : 0);
  for_each_item(kernels, std::ssize(found), attack.threads, [&](std::int64_t item) {
    const auto i = static_cast<std::size_t>(item);
    found[i] = climb(ways[i / claims], i % claims, lines[i / claims], attack, i);
  });
  for (std::size_t i = 0; i < found.size(); ++i) lines[i / claims].add(found[i]);

  std::vector<Reached> reached;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    reached.push_back(std::move(lines[w].reached));
    reached.back().way = ways[w].name;
  }
  return reached;
}

}  // namespace tamis::test
