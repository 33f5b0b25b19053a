#include "support/certificates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tamis::testing {
namespace {

/// One row of a call and everything known about it.
struct Row {
  const Oracle& oracle;
  const SieveCall& call;
  const Certificate& certificate;
  std::int64_t row;
  std::span<const float> out;
  float lse;
  std::span<const float> weights;  // empty if not asked for
  const ExactRow& exact;
  bool head_dense;  // a row of the same KV head is dense: everything was read, for all of them

  [[nodiscard]] std::int64_t first_of_head() const {
    return row / call.rows_per_head() * call.rows_per_head();
  }
  /// Bytes of one exact key and its value.
  [[nodiscard]] std::int64_t token_bytes() const {
    return (call.shape.head_dim + call.shape.value_dim) * size_of(call.shape.dtype);
  }
};

class Checker {
 public:
  Checker(const Row& row, Report& report) : row_(row), c_(row.certificate), report_(report) {}

  void run(const DenseResult* dense) {
    ++report_.records;
    if (row_.exact.weights.empty()) {
      no_keys();
      return;
    }
    ++(c_.dense ? report_.dense : report_.sparse);
    numbers();
    if (violated_) return;
    bounds();
    counts();
    bytes();
    budget();
    if (c_.dense) same_as_dense(dense);
  }

 private:
  template <class... Parts>
  void violate(const char* claim, fmt::format_string<Parts...> format, Parts&&... parts) {
    if (!violated_) ++report_.violations;
    violated_ = true;
    if (report_.examples.contains(claim)) return;
    report_.examples[claim] = fmt::format(
        "{} in row {} with {}, ladder {}: {}", claim, row_.row, to_string(row_.call.budget(row_.row)),
        row_.call.ladder ? "on" : "off", fmt::format(format, std::forward<Parts>(parts)...));
  }

  void no_keys() {
    for (const float x : row_.out)
      if (x != 0) violate("no keys", "it sees no key and has output {}", x);
    if (!(row_.lse < 0 && std::isinf(row_.lse)))
      violate("no keys", "it sees no key and has lse {}", row_.lse);
    if (c_.tau != 0 || c_.error != 0 || c_.lse_error != 0 || c_.bytes() != 0 || c_.exact_keys != 0 ||
        c_.middle_keys != 0 || c_.coarse_keys != 0 || c_.middle_values != 0 || c_.exact_values != 0)
      violate("no keys", "it sees no key and its certificate is not zero");
  }

  void numbers() {
    for (const float x : row_.out)
      if (!std::isfinite(x)) violate("numbers", "the output holds {}", x);
    if (!std::isfinite(row_.lse)) violate("numbers", "lse is {}", row_.lse);
    for (const double x : {c_.tau, c_.error, c_.lse_error})
      if (!(x >= 0)) violate("numbers", "a bound is {}", x);
    if (c_.grade != Grade::proved) violate("numbers", "the grade is {}", static_cast<int>(c_.grade));
  }

  /// The heart of it: the three distances.
  void bounds() {
    const ExactRow& exact = row_.exact;
    double tau = 0;
    if (!row_.weights.empty()) {
      tau = total_variation(row_.weights, exact);
      if (!(tau <= c_.tau + exact.tau_slack))
        violate("tau", "tau is certified {:.9g} and is {:.9g} (± {:.2g})", c_.tau, tau, exact.tau_slack);
    }
    const double error = distance(row_.out, exact);
    if (!(error <= c_.error + exact.error_slack))
      violate("error", "the error is certified {:.9g} and is {:.9g} (± {:.2g})", c_.error, error,
              exact.error_slack);
    const auto lse = static_cast<double>(std::abs(row_.lse - exact.lse));
    if (!(lse <= c_.lse_error + exact.lse_slack))
      violate("lse", "the lse error is certified {:.9g} and is {:.9g} (± {:.2g})", c_.lse_error, lse,
              exact.lse_slack);
    if (exact.tau_slack > c_.tau || exact.error_slack > c_.error || exact.lse_slack > c_.lse_error)
      ++report_.blind;
    if (c_.dense) return;
    if (c_.tau >= 1) ++report_.empty;
    if (tau > exact.tau_slack) report_.tau.add(c_.tau / tau);
    if (error > exact.error_slack) report_.error.add(c_.error / error);
  }

  void counts() {
    const std::int64_t most = row_.oracle.most_keys(row_.row);
    for (const std::int64_t count :
         {c_.coarse_keys, c_.middle_keys, c_.exact_keys, c_.middle_values, c_.exact_values})
      if (count < 0 || count > most) violate("counts", "a count is {} of {} keys", count, most);
    const std::int64_t keys = c_.coarse_keys + c_.middle_keys + c_.exact_keys;
    if (keys != most)
      violate("counts", "{} coarse + {} middle + {} exact keys are not the {} seen", c_.coarse_keys,
              c_.middle_keys, c_.exact_keys, most);
    if (c_.middle_values + c_.exact_values > most)
      violate("counts", "{} middle + {} exact values are more than the {} keys seen", c_.middle_values,
              c_.exact_values, most);
    if (c_.dense && (c_.exact_keys != most || c_.exact_values != most))
      violate("counts", "it is dense and read {} keys and {} values of {}", c_.exact_keys, c_.exact_values,
              most);
    // Dropped keys carry no weight, so as many as were read exactly carry some.
    if (!row_.call.ladder && !c_.dense) {
      const auto used =
          std::count_if(row_.weights.begin(), row_.weights.end(), [](float x) { return x > 0; });
      if (used > c_.exact_keys)
        violate("counts", "{} keys have weight and {} were read exactly", used, c_.exact_keys);
    }
  }

  void bytes() {
    const Shape& shape = row_.call.shape;
    const std::int64_t d = shape.head_dim;
    const std::int64_t exact =
        (c_.exact_keys * d + c_.exact_values * shape.value_dim) * size_of(shape.dtype);
    if (c_.exact_bytes != exact)
      violate("bytes", "exact bytes are {} for {} of keys and values", c_.exact_bytes, exact);
    const auto index = static_cast<std::int64_t>(row_.call.index->bytes()) / shape.kv_heads;
    if (c_.coarse_bytes < 0 || c_.middle_bytes < 0 || c_.coarse_bytes + c_.middle_bytes > index)
      violate("bytes", "{} coarse + {} middle bytes are more than the {} of the head's index",
              c_.coarse_bytes, c_.middle_bytes, index);
    // Half a byte per channel of what was read at 4 bits, as much again of what was read at 8.
    if (2 * c_.coarse_bytes < (c_.coarse_keys + c_.middle_keys) * d)
      violate("bytes", "{} coarse bytes cannot hold {} keys", c_.coarse_bytes,
              c_.coarse_keys + c_.middle_keys);
    if (2 * c_.middle_bytes < c_.middle_keys * d + c_.middle_values * shape.value_dim)
      violate("bytes", "{} middle bytes cannot hold {} keys and {} values", c_.middle_bytes, c_.middle_keys,
              c_.middle_values);
  }

  /// Rows of the same KV head that see a key.
  template <class Use>
  void for_each_of_head(Use use) const {
    const std::int64_t first = row_.first_of_head();
    for (std::int64_t r = first; r < first + row_.call.rows_per_head(); ++r)
      if (row_.oracle.keys(r) > 0) use(row_.call.budget(r), row_.oracle.keys(r));
  }

  /// The whole blocks that the index holds and every row of the head sees: tokens beyond are read exactly.
  std::int64_t whole() const {
    std::int64_t tokens = row_.call.index->tokens();
    for_each_of_head([&](const Budget&, std::int64_t keys) {
      tokens = std::min(tokens, keys / page_tokens * page_tokens);
    });
    return tokens;
  }

  /// Tokens read exactly whatever the budget: sinks, those beyond `whole`, and those that no code can hold.
  std::int64_t pinned() const {
    const std::int64_t most = row_.oracle.most_keys(row_.row);
    const std::int64_t sinks = std::min(row_.call.index->shape().sinks, whole());
    const auto coded = row_.oracle.huge(row_.row).subspan(static_cast<std::size_t>(sinks),
                                                          static_cast<std::size_t>(whole() - sinks));
    return sinks + most - whole() + std::count(coded.begin(), coded.end(), 1);
  }

  void budget() {
    const Budget& budget = row_.call.budget(row_.row);
    const std::int64_t most = row_.oracle.most_keys(row_.row);
    if (budget.kind == Budget::Kind::topk && budget.k >= most && !c_.dense)
      violate("budget", "{} of {} keys were asked for and the result is not dense", budget.k, most);
    if (c_.dense) return;
    if (budget.kind == Budget::Kind::mass && !(c_.tau <= budget.eps))
      violate("budget", "tau is certified {}", c_.tau);
    if (budget.kind == Budget::Kind::window) window();
    if (row_.head_dense) return;
    const std::int64_t least = c_.coarse_bytes + pinned() * row_.token_bytes();
    if (budget.kind == Budget::Kind::bytes) {
      const double allowed = budget.share * static_cast<double>(most * row_.token_bytes());
      if (static_cast<double>(c_.bytes()) > std::max(allowed, static_cast<double>(least)))
        violate("budget", "{} bytes were read where {:.0f} are allowed and {} cannot be avoided",
                c_.bytes(), allowed, least);
    }
    if (budget.kind == Budget::Kind::topk || budget.kind == Budget::Kind::power) {
      double k = 0;
      for_each_of_head([&](const Budget& own, std::int64_t keys) {
        const auto n = static_cast<double>(keys);
        k += own.kind == Budget::Kind::topk ? static_cast<double>(own.k)
                                            : std::ceil(own.alpha * std::pow(n, own.exponent));
      });
      // With the ladder k keys are an amount of reading, without it they are keys.
      const double allowed = k * static_cast<double>(row_.token_bytes()) + static_cast<double>(least);
      if (row_.call.ladder && static_cast<double>(c_.bytes()) > allowed)
        violate("budget", "{} bytes were read where {} keys are asked for and {} cannot be avoided",
                c_.bytes(), k, least);
      if (!row_.call.ladder && static_cast<double>(c_.exact_keys - pinned()) > k)
        violate("budget", "{} keys were read where {} are asked for and {} cannot be avoided",
                c_.exact_keys, k, pinned());
    }
  }

  /// The last W and the first SINKS keys of the rows that share the KV head are used, and what is read
  /// whatever the budget; no others.
  void window() {
    const Index& index = *row_.call.index;
    std::int64_t sinks = index.shape().sinks;
    std::int64_t last = whole();
    for_each_of_head([&](const Budget& own, std::int64_t seen) {
      sinks = std::max(sinks, own.sinks);
      last = std::min(last, seen - own.window);
    });
    const auto keys = static_cast<std::int64_t>(row_.weights.size());
    for (std::int64_t j = sinks; j < std::min(last, keys); ++j)
      if (row_.weights[static_cast<std::size_t>(j)] > 0 &&
          row_.oracle.huge(row_.row)[static_cast<std::size_t>(j)] == 0)
        violate("window", "key {} of {} has weight and lies outside of the window", j, keys);
  }

  void same_as_dense(const DenseResult* dense) {
    if (dense == nullptr) {
      violate("dense bits", "it says dense where dense attention refuses the numbers");
      return;
    }
    const std::size_t r = static_cast<std::size_t>(row_.row);
    if (std::memcmp(row_.out.data(), dense->out.data() + r * row_.out.size(), row_.out.size_bytes()) != 0 ||
        std::memcmp(&row_.lse, &dense->lse[r], sizeof(float)) != 0)
      violate("dense bits", "it says dense and has other bits than dense attention");
  }

  const Row& row_;
  const Certificate& c_;
  Report& report_;
  bool violated_ = false;
};

bool same_counts(const Certificate& a, const Certificate& b) {
  return a.coarse_keys == b.coarse_keys && a.middle_keys == b.middle_keys && a.exact_keys == b.exact_keys &&
         a.middle_values == b.middle_values && a.exact_values == b.exact_values &&
         a.coarse_bytes == b.coarse_bytes && a.middle_bytes == b.middle_bytes &&
         a.exact_bytes == b.exact_bytes;
}

}  // namespace

void Report::add(const Report& other) {
  records += other.records;
  sparse += other.sparse;
  dense += other.dense;
  violations += other.violations;
  examples.insert(other.examples.begin(), other.examples.end());
  blind += other.blind;
  empty += other.empty;
  tau.add(other.tau);
  error.add(other.error);
}

std::string text(const std::map<std::string, std::string>& examples) {
  std::string all;
  for (const auto& [claim, sentence] : examples) all += (all.empty() ? "" : "; ") + sentence;
  return all;
}

Report check_certificates(const Oracle& oracle, const SieveCall& call, const SieveResult& result,
                          const DenseResult* dense) {
  Report report;
  const auto d_v = static_cast<std::size_t>(call.shape.value_dim);
  for (std::int64_t r = 0; r < oracle.rows(); ++r) {
    const auto at = static_cast<std::size_t>(r);
    const auto keys = static_cast<std::size_t>(oracle.keys(r));
    std::span<const float> weights;
    if (!result.weights.empty())
      weights = std::span(result.weights).subspan(at * static_cast<std::size_t>(result.keys), keys);
    const auto per_head = static_cast<std::size_t>(call.rows_per_head());
    const auto of_head = std::span(result.certificates).subspan(at / per_head * per_head, per_head);
    const bool head_dense =
        std::any_of(of_head.begin(), of_head.end(), [](const Certificate& c) { return c.dense; });
    const Row row{oracle,
                  call,
                  result.certificates[at],
                  r,
                  std::span(result.out).subspan(at * d_v, d_v),
                  result.lse[at],
                  weights,
                  oracle[r],
                  head_dense};
    Checker(row, report).run(dense);
    // Rows that share a KV head share the reading.
    for (std::size_t other = at / per_head * per_head; other < at; ++other)
      if (keys > 0 && oracle.keys(static_cast<std::int64_t>(other)) > 0 &&
          !same_counts(result.certificates[at], result.certificates[other])) {
        ++report.violations;
        report.examples.emplace(
            "shared counts",
            fmt::format("rows {} and {} share a KV head and count differently with {}, ladder {}", other,
                        at, to_string(call.budget(r)), call.ladder ? "on" : "off"));
        break;
      }
  }
  return report;
}

Report check_call(const Oracle& oracle, const SieveCall& call, const DenseResult* dense,
                  Workspace& workspace) {
  const std::optional<SieveResult> result = run_attend(call, workspace);
  if (result) return check_certificates(oracle, call, *result, dense);
  Report report;
  if (dense != nullptr) {
    ++report.violations;
    report.examples["refusal"] = fmt::format("{}, ladder {}: it refuses numbers that dense attention takes",
                                             to_string(call.budgets[0]), call.ladder ? "on" : "off");
  }
  return report;
}

Report check_budgets(const Oracle& oracle, const SieveCall& call, std::span<const Budget> budgets,
                     Workspace& workspace) {
  const std::optional<DenseResult> dense = run_dense(call, workspace);
  Report report;
  for (std::size_t i = 0; i < budgets.size(); ++i)
    for (const bool ladder : {true, false}) {
      SieveCall one = call;
      one.budgets = budgets.subspan(i, 1);
      one.ladder = ladder;
      report.add(check_call(oracle, one, dense ? &*dense : nullptr, workspace));
    }
  return report;
}

}  // namespace tamis::testing
