// The printed tables: one line per layer and, with a budget, one for all layers and a sentence.
#include "terminal/table.h"

#include <fmt/format.h>

#include <algorithm>

#include <tamis/info.h>

#include "attend/report.h"
#include "attend/statistics.h"

namespace tamis::cli {
namespace {

using Row = std::vector<std::string>;

double largest(std::span<const LayerResult> layers, double Certificate::*field) {
  return distribution(claims(layers, field)).max;
}

double largest(std::span<const LayerResult> layers, std::vector<double> LayerResult::*field) {
  return distribution(measured(layers, field)).max;
}

std::string small(double value) { return fmt::format("{:.1e}", value); }

void append(Row& row, Row cells) { std::ranges::move(cells, std::back_inserter(row)); }

std::string verdict(const AttendReport& report, const Totals& sum) {
  return report.checked
             ? fmt::format("; {} violations against the f64 reference.\n", sum.violations)
             : "; certified, not checked.\n";
}

std::string dense_table(const lab::Trace& trace, const AttendReport& report) {
  Row heading{"layer", "heads", "KV", "queries", "tokens", "ms", "MB", "tau <=", "error <="};
  if (report.checked) append(heading, {"true error", "lse <=", "true lse", "violations"});
  std::vector<Row> rows{heading};
  for (const LayerResult& result : report.layers) {
    const std::span one(&result, 1);
    const Shape& shape = result.layer.shape;
    Row row{std::to_string(result.layer.layer),
            std::to_string(shape.query_heads),
            std::to_string(shape.kv_heads),
            std::to_string(shape.queries),
            std::to_string(trace.tokens()),
            fmt::format("{:.1f}", 1e3 * result.seconds),
            fmt::format("{:.1f}", 1e-6 * static_cast<double>(dense_bytes(one))),
            small(largest(one, &Certificate::tau)),
            small(largest(one, &Certificate::error))};
    if (report.checked)
      append(row, {small(largest(one, &LayerResult::true_error)),
                   small(largest(one, &Certificate::lse_error)),
                   small(largest(one, &LayerResult::true_lse_error)),
                   std::to_string(result.violations)});
    rows.push_back(std::move(row));
  }
  const Totals sum = totals(report.layers);
  return table_text(rows) +
         fmt::format("\n{} queries, dense, {:.3f} s on {} threads ({})", sum.queries, sum.seconds,
                     report.threads, target()) +
         verdict(report, sum);
}

Row sparse_row(const lab::Trace& trace, std::span<const LayerResult> layers,
               const std::string& name, bool checked) {
  const Totals sum = totals(layers);
  const Distribution bytes = distribution(byte_shares(layers));
  const Distribution keys =
      distribution(key_shares(trace, layers, [](const LayerResult& result, const Certificate& c) {
        return result.whole_keys(c);
      }));
  const Distribution tau = distribution(claims(layers, &Certificate::tau));
  const Distribution error = distribution(claims(layers, &Certificate::error));
  Row row{name,
          std::to_string(sum.queries),
          std::to_string(sum.dense),
          std::to_string(sum.queries - sum.count(Reached::met)),
          fmt::format("{:.1f}", 1e3 * sum.seconds),
          percent(bytes.median),
          percent(bytes.p90),
          percent(keys.median),
          small(tau.median),
          small(tau.p90),
          small(error.median),
          small(error.p90)};
  if (checked) {
    const Distribution relative = distribution(relative_errors(layers));
    append(row, {small(distribution(measured(layers, &LayerResult::true_error)).median),
                 small(relative.median), small(relative.p90), std::to_string(sum.violations)});
  }
  return row;
}

std::string ratio_text(std::span<const LayerResult> layers) {
  const std::vector<double> of_error =
      ratios(layers, &Certificate::error, &LayerResult::true_error);
  if (of_error.empty()) return {};
  const Distribution error = distribution(of_error);
  return fmt::format("Certified by true error where not dense: {:.3g} (p90 {:.3g}).\n",
                     error.median, error.p90);
}

/// Returns a sentence for every way in which a budget was not reached.
std::string reached_text(const Totals& sum, int bits) {
  std::string text;
  for (const Reached what : {Reached::stored_bits, Reached::look_alone, Reached::not_finite}) {
    if (sum.count(what) == 0) continue;
    text += fmt::format("{} of {} queries: {}", sum.count(what), sum.queries, words_for(what));
    if (what == Reached::stored_bits && bits < 16) text += "; --bits 16 stores more";
    text += ".\n";
  }
  return text;
}

std::string sparse_table(const lab::Trace& trace, const AttendReport& report) {
  Row heading{"layer", "queries",    "dense",  "not met", "ms",       "bytes",
              "p90",   "whole keys", "tau <=", "p90",     "error <=", "p90"};
  if (report.checked) append(heading, {"true error", "relative", "p90", "violations"});
  std::vector<Row> rows{heading};
  for (const LayerResult& result : report.layers)
    rows.push_back(
        sparse_row(trace, {&result, 1}, std::to_string(result.layer.layer), report.checked));
  rows.push_back(sparse_row(trace, report.layers, "all", report.checked));
  const Totals sum = totals(report.layers);
  std::string text = table_text(rows);
  text += fmt::format(
      "\nMedians and 90th percentiles; bytes and keys as shares of dense in bf16, over KV heads "
      "and "
      "queries.\n"
      "Cache of {} tokens: {} of K and V in bf16, {:.3f} s to append.\n",
      report.layers.front().cached, percent(sum.cache_share), sum.append_seconds);
  text += reached_text(sum, report.reading->bits);
  if (report.checked) text += ratio_text(report.layers);
  return text +
         fmt::format("{} queries, {}, {} bits, {:.3f} s on {} threads ({})", sum.queries,
                     report.reading->budget, report.reading->bits, sum.seconds, report.threads,
                     target()) +
         verdict(report, sum);
}

}  // namespace

std::string table_text(const lab::Trace& trace, const AttendReport& report) {
  return report.reading ? sparse_table(trace, report) : dense_table(trace, report);
}

}  // namespace tamis::cli
