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
    numbers();
    if (violated_) return;
    bounds();
    counts();
    bytes();
    budget();
    if (c_.dense) {
      ++report_.dense;
      same_as_dense(dense);
    }
  }

 private:
  template <class... Parts>
  void violate(fmt::format_string<Parts...> format, Parts&&... parts) {
    if (!violated_) ++report_.violations;  // a record counts once
    violated_ = true;
    if (report_.first.empty())
      report_.first = fmt::format("row {} with {}, ladder {}: ", row_.row,
                                  to_string(row_.call.budget(row_.row)), row_.call.ladder ? "on" : "off") +
                      fmt::format(format, std::forward<Parts>(parts)...);
  }

  void no_keys() {
    for (const float x : row_.out)
      if (x != 0) violate("it sees no key and has output {}", x);
    if (!(row_.lse < 0 && std::isinf(row_.lse))) violate("it sees no key and has lse {}", row_.lse);
    if (c_.tau != 0 || c_.error != 0 || c_.lse_error != 0 || c_.bytes() != 0 || c_.exact_keys != 0 ||
        c_.middle_keys != 0 || c_.coarse_keys != 0 || c_.middle_values != 0 || c_.exact_values != 0)
      violate("it sees no key and its certificate is not zero");
  }

  void numbers() {
    for (const float x : row_.out)
      if (!std::isfinite(x)) violate("the output holds {}", x);
    if (!std::isfinite(row_.lse)) violate("lse is {}", row_.lse);
    for (const double x : {c_.tau, c_.error, c_.lse_error})
      if (!(x >= 0)) violate("a bound is {}", x);
    if (c_.grade != Grade::proved) violate("the grade is {}", static_cast<int>(c_.grade));
  }

  /// The heart of it: the three distances.
  void bounds() {
    const ExactRow& exact = row_.exact;
    double tau = 0;
    if (!row_.weights.empty()) {
      tau = total_variation(row_.weights, exact);
      if (!(tau <= c_.tau + exact.tau_slack))
        violate("tau is certified {:.9g} and is {:.9g} (± {:.2g})", c_.tau, tau, exact.tau_slack);
    }
    const double error = distance(row_.out, exact);
    if (!(error <= c_.error + exact.error_slack))
      violate("the error is certified {:.9g} and is {:.9g} (± {:.2g})", c_.error, error, exact.error_slack);
    const auto lse = static_cast<double>(std::abs(row_.lse - exact.lse));
    if (!(lse <= c_.lse_error + exact.lse_slack))
      violate("the lse error is certified {:.9g} and is {:.9g} (± {:.2g})", c_.lse_error, lse,
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
      if (count < 0 || count > most) violate("a count is {} of {} keys", count, most);
    const std::int64_t keys = c_.coarse_keys + c_.middle_keys + c_.exact_keys;
    if (keys != most)
      violate("{} coarse + {} middle + {} exact keys are not the {} seen", c_.coarse_keys, c_.middle_keys,
              c_.exact_keys, most);
    if (c_.middle_values + c_.exact_values > most)
      violate("{} middle + {} exact values are more than the {} keys seen", c_.middle_values,
              c_.exact_values, most);
    if (c_.dense && (c_.exact_keys != most || c_.exact_values != most))
      violate("it is dense and read {} keys and {} values of {}", c_.exact_keys, c_.exact_values, most);
    // Dropped keys carry no weight, so as many as were read exactly carry some.
    if (!row_.call.ladder && !c_.dense) {
      const auto used =
          std::count_if(row_.weights.begin(), row_.weights.end(), [](float x) { return x > 0; });
      if (used > c_.exact_keys)
        violate("{} keys have weight and {} were read exactly", used, c_.exact_keys);
    }
  }

  void bytes() {
    const Shape& shape = row_.call.shape;
    const std::int64_t d = shape.head_dim;
    const std::int64_t exact =
        (c_.exact_keys * d + c_.exact_values * shape.value_dim) * size_of(shape.dtype);
    if (c_.exact_bytes != exact)
      violate("exact bytes are {} for {} of keys and values", c_.exact_bytes, exact);
    const auto index = static_cast<std::int64_t>(row_.call.index->bytes()) / shape.kv_heads;
    if (c_.coarse_bytes < 0 || c_.middle_bytes < 0 || c_.coarse_bytes + c_.middle_bytes > index)
      violate("{} coarse + {} middle bytes are more than the {} of the head's index", c_.coarse_bytes,
              c_.middle_bytes, index);
    // Half a byte per channel of what was read at 4 bits, as much again of what was read at 8.
    if (2 * c_.coarse_bytes < (c_.coarse_keys + c_.middle_keys) * d)
      violate("{} coarse bytes cannot hold {} keys", c_.coarse_bytes, c_.coarse_keys + c_.middle_keys);
    if (2 * c_.middle_bytes < c_.middle_keys * d + c_.middle_values * shape.value_dim)
      violate("{} middle bytes cannot hold {} keys and {} values", c_.middle_bytes, c_.middle_keys,
              c_.middle_values);
  }

  /// What is read whatever the budget: the scan, the sinks, and tokens beyond the whole blocks that every
  /// row of the head sees and the index holds.
  std::int64_t least_bytes() const {
    std::int64_t whole = row_.call.index->tokens();
    const std::int64_t first = row_.first_of_head();
    for (std::int64_t r = first; r < first + row_.call.rows_per_head(); ++r)
      if (row_.oracle.keys(r) > 0) whole = std::min(whole, row_.oracle.keys(r) / page_tokens * page_tokens);
    const std::int64_t most = row_.oracle.most_keys(row_.row);
    const std::int64_t exact =
        std::min(most, row_.call.index->shape().sinks + most - std::min(most, whole));
    return c_.coarse_bytes + exact * row_.token_bytes();
  }

  void budget() {
    const Budget& budget = row_.call.budget(row_.row);
    const std::int64_t most = row_.oracle.most_keys(row_.row);
    if (budget.kind == Budget::Kind::topk && budget.k >= most && !c_.dense)
      violate("{} of {} keys were asked for and the result is not dense", budget.k, most);
    if (c_.dense) return;
    if (budget.kind == Budget::Kind::mass && !(c_.tau <= budget.eps))
      violate("tau is certified {}", c_.tau);
    if (budget.kind == Budget::Kind::window) {
      window(budget);
      return;
    }
    double allowed = 0;
    if (budget.kind == Budget::Kind::bytes)
      allowed = budget.share * static_cast<double>(most * row_.token_bytes());
    if (budget.kind == Budget::Kind::topk || budget.kind == Budget::Kind::power) {
      const std::int64_t first = row_.first_of_head();
      for (std::int64_t r = first; r < first + row_.call.rows_per_head(); ++r) {
        const Budget& own = row_.call.budget(r);
        const auto keys = static_cast<double>(row_.oracle.keys(r));
        const double k = own.kind == Budget::Kind::topk
                             ? static_cast<double>(own.k)
                             : std::ceil(own.alpha * std::pow(keys, own.exponent));
        if (keys > 0) allowed += std::min(k, keys) * static_cast<double>(row_.token_bytes());
      }
    }
    if (allowed > 0 &&
        static_cast<double>(c_.bytes()) > std::max(allowed, static_cast<double>(least_bytes())))
      violate("{} bytes were read where the budget allows {:.0f} and {} cannot be avoided", c_.bytes(),
              allowed, least_bytes());
  }

  /// The last W and the first SINKS keys are used, and no others.
  void window(const Budget& budget) {
    const auto keys = static_cast<std::int64_t>(row_.weights.size());
    for (std::int64_t j = 0; j < keys; ++j) {
      const bool inside = j < budget.sinks || j >= keys - budget.window;
      if (!inside && row_.weights[static_cast<std::size_t>(j)] > 0)
        violate("key {} of {} has weight and lies outside of the window", j, keys);
    }
  }

  void same_as_dense(const DenseResult* dense) {
    if (dense == nullptr) {
      violate("it says dense where dense attention refuses the numbers");
      return;
    }
    const std::size_t r = static_cast<std::size_t>(row_.row);
    if (std::memcmp(row_.out.data(), dense->out.data() + r * row_.out.size(), row_.out.size_bytes()) != 0 ||
        std::memcmp(&row_.lse, &dense->lse[r], sizeof(float)) != 0)
      violate("it says dense and has other bits than dense attention");
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
  dense += other.dense;
  violations += other.violations;
  if (first.empty()) first = other.first;
  blind += other.blind;
  empty += other.empty;
  tau.add(other.tau);
  error.add(other.error);
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
    const Row row{oracle,
                  call,
                  result.certificates[at],
                  r,
                  std::span(result.out).subspan(at * d_v, d_v),
                  result.lse[at],
                  weights,
                  oracle[r]};
    Checker(row, report).run(dense);
    // Rows that share a KV head share the reading.
    const auto head = at / static_cast<std::size_t>(call.rows_per_head());
    for (std::size_t other = head * static_cast<std::size_t>(call.rows_per_head()); other < at; ++other)
      if (keys > 0 && oracle.keys(static_cast<std::int64_t>(other)) > 0 &&
          !same_counts(result.certificates[at], result.certificates[other])) {
        ++report.violations;
        if (report.first.empty())
          report.first =
              fmt::format("rows {} and {} share a KV head and count differently with {}, ladder {}", other,
                          at, to_string(call.budget(r)), call.ladder ? "on" : "off");
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
    report.violations = 1;
    report.first = fmt::format("{}, ladder {}: it refuses numbers that dense attention takes",
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
