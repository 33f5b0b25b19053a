#include "bench/report.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include <tamis/info.h>

#include "attend/statistics.h"
#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

std::array<std::int64_t, 4> reached(const Measured& measured) {
  std::array<std::int64_t, 4> counts{};
  for (const tamis::Certificate& certificate : measured.certificates)
    ++counts[static_cast<std::size_t>(certificate.reached)];
  return counts;
}

std::vector<double> taus(const Measured& measured) {
  std::vector<double> all;
  for (const tamis::Certificate& certificate : measured.certificates)
    all.push_back(certificate.tau);
  return all;
}

ordered_json median_and_p90(const std::vector<double>& values) {
  const Distribution d = distribution(values);
  return {{"median", d.median}, {"p90", d.p90}};
}

std::int64_t computed_densely(const Measured& measured) {
  return std::ranges::count_if(measured.certificates, [](const tamis::Certificate& certificate) {
    return certificate.dense != Dense::no;
  });
}

std::string small(double value) { return fmt::format("{:.2g}", value); }

}  // namespace

std::string json_text(const BenchReport& report) {
  const BenchShape& shape = report.shape;
  const Measured& measured = report.measured;
  const auto [met, stored_bits, look_alone, not_finite] = reached(measured);
  return json_text(ordered_json{
      {"target", target()},
      {"cpu", report.cpu},
      {"threads", report.threads},
      {"heads", shape.heads.query_heads},
      {"kv_heads", shape.heads.kv_heads},
      {"dim", shape.heads.key_dim},
      {"tokens", shape.tokens},
      {"batch", shape.batch},
      {"steps", shape.steps},
      {"budget", report.budget},
      {"bits", report.settings.bits},
      {"prefer", report.settings.attend.prefer == Prefer::time ? "time" : "bytes"},
      {"keys", report.keys},
      {"seed", shape.seed},
      {"dense_ms", distribution(measured.dense_ms).median},
      {"sparse_ms", distribution(measured.sparse_ms).median},
      {"append_us", measured.append_us},
      {"prompt_us", measured.prompt_us},
      {"bytes", median_and_p90(measured.byte_shares)},
      {"tau", median_and_p90(taus(measured))},
      {"relative_error", median_and_p90(measured.relative_errors)},
      {"checked", measured.relative_errors.size()},
      {"violations", measured.violations},
      {"reached",
       {{"met", met},
        {"stored_bits", stored_bits},
        {"look_alone", look_alone},
        {"not_finite", not_finite}}},
      {"dense_fallbacks", computed_densely(measured)},
      {"cache_share", measured.cache_share},
      {"cache_bytes", measured.cache_bytes},
      {"version", version()},
  });
}

std::string table_text(const BenchReport& report) {
  const BenchShape& shape = report.shape;
  const Measured& measured = report.measured;
  const Distribution bytes = distribution(measured.byte_shares);
  const Distribution tau = distribution(taus(measured));
  const Distribution error = distribution(measured.relative_errors);
  const auto counts = reached(measured);
  const auto rows = static_cast<std::int64_t>(measured.certificates.size());
  std::string text = fmt::format(
      "{}, {}, {} threads\n"
      "{} query heads over {} KV heads, head size {}, {} tokens, batch {}; {} keys, seed {}; {}, "
      "{} bits\n\n",
      report.cpu, target(), report.threads, shape.heads.query_heads, shape.heads.kv_heads,
      shape.heads.key_dim, shape.tokens, shape.batch, report.keys, shape.seed, report.budget,
      report.settings.bits);
  text += table_text(
      {{"dense ms", "sparse ms", "append us", "bytes", "p90", "tau <=", "p90", "true error", "p90",
        "met", "cache", "MB"},
       {fmt::format("{:.2f}", distribution(measured.dense_ms).median),
        fmt::format("{:.2f}", distribution(measured.sparse_ms).median),
        fmt::format("{:.1f}", measured.append_us), percent(bytes.median), percent(bytes.p90),
        small(tau.median), small(tau.p90), small(error.median), small(error.p90),
        percent(static_cast<double>(counts[0]) / static_cast<double>(rows)),
        percent(measured.cache_share),
        fmt::format("{:.1f}", 1e-6 * static_cast<double>(measured.cache_bytes))}});
  text += fmt::format(
      "\n"
      "Medians over {} steps, each with other queries and empty caches; append per token of a "
      "sequence ({:.1f} us in a prompt). Bytes and cache as shares of bf16; errors relative, of {} "
      "rows against f64, {} violations.\n",
      shape.steps, measured.prompt_us, measured.relative_errors.size(), measured.violations);
  for (std::size_t what = 1; what < counts.size(); ++what)
    if (counts[what] > 0)
      text += fmt::format("{} of {} queries: {}.\n", counts[what], rows,
                          words_for(static_cast<tamis::Reached>(what)));
  if (const std::int64_t dense = computed_densely(measured); dense > 0)
    text += fmt::format("{} of {} queries were read densely.\n", dense, rows);
  return text;
}

}  // namespace tamis::cli
