// tamis verify: checks whether a witness produces a pattern. Takes rows·columns·m multiply-adds in
// f32 and in f64 and a little exact arithmetic. Memory is linear in the two files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/lab/verify.h>
#include <tamis/text.h>

#include "command.h"
#include "conditions.h"
#include "pattern_file.h"
#include "terminal/duration.h"
#include "terminal/interrupt.h"
#include "terminal/json.h"
#include "terminal/shown.h"
#include "terminal/table.h"
#include "verify/refutation.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

constexpr lab::Arithmetic arithmetics[] = {lab::Arithmetic::f32, lab::Arithmetic::f64,
                                           lab::Arithmetic::exact};

constexpr const char* description =
    "Check that a witness produces a pattern, or why none can\n\n"
    "From the two files alone: the logits L of the witness, q*k^T or x*w_q*w_k^T*x^T, must satisfy "
    "for every row i of the pattern A\n\n"
    "  (23)  L_ij - L_il < log eps1                  where A_ij = 0, A_il != 0\n"
    "  (24)  |L_ij - L_il - log(A_ij/A_il)| < eps2   where both are nonzero\n\n"
    "or, with --weak, only L_ij < L_il where A_ij = 0 and A_il != 0; with --causal for columns up "
    "to i only. What the witness says it was made for, in its metadata (docs/witness.md), is shown "
    "and not believed: --as-claimed checks that where no options say otherwise. Every condition is "
    "checked with logits in f32, in f64, and exactly: numbers as they are, products and sums "
    "without rounding, logarithms enclosed. The claim is the exact one; the others say with which "
    "arithmetic it survives. The margin is the least slack of a condition, positive if all hold; "
    "rows are counted from 0.\n\n"
    "A refutation, which tamis decide writes, is checked in place of a witness: the rows and "
    "columns that it names, or its proof, must rule out the dimension.\n\n"
    "--json prints {holds, arithmetic, margin, worst_row, failing_rows, norm_product, max_logit, "
    "dim, rows, columns, conditions, claimed, in, made_by, ...}: conditions are those checked, "
    "claimed those that the witness says it was made for; margin, worst_row and failing_rows are "
    "those of exact arithmetic, arithmetic lists those in which the conditions hold, in has the "
    "verdict in each. An infinite number is null. Of a refutation it prints {holds, why, dim, "
    "hidden, grounds, ...}. Exit status 0 if the conditions hold exactly, 1 if not.";

struct Options {
  PatternFile pattern;
  std::string witness;
  AskedConditions conditions;
  bool as_claimed = false;
};

struct Report {
  const Options& options;
  const lab::Pattern& pattern;
  const lab::Witness& witness;
  lab::Conditions conditions;
  lab::Verification result;
  int threads;
  double seconds;

  [[nodiscard]] std::int64_t dim() const {
    return (witness.has_queries() ? witness.q : witness.w_q).info().shape[1];
  }
};

ordered_json row_or_null(std::int64_t row) { return row >= 0 ? ordered_json(row) : ordered_json(); }

std::string report_json(const Report& report) {
  const lab::Verification& result = report.result;
  const lab::Checked& exact = result[lab::Arithmetic::exact];
  ordered_json in;
  for (const lab::Arithmetic a : arithmetics)
    in[lab::name_of(a)] = {{"holds", result[a].holds},
                           {"margin", number_or_null(result[a].margin)},
                           {"worst_row", row_or_null(result[a].worst_row)},
                           {"failing_rows", result[a].failing_rows}};
  return json_text(ordered_json{{"holds", result.holds()},
                                {"arithmetic", holds_in(report.result)},
                                {"margin", number_or_null(exact.margin)},
                                {"worst_row", row_or_null(exact.worst_row)},
                                {"failing_rows", exact.failing_rows},
                                {"norm_product", number_or_null(result.norm_product)},
                                {"max_logit", number_or_null(result.max_logit)},
                                {"dim", report.dim()},
                                {"rows", report.pattern.rows},
                                {"columns", report.pattern.cols},
                                {"nonzeros", report.pattern.nonzeros()},
                                {"dropped", report.pattern.dropped},
                                {"conditions", conditions_json(report.conditions)},
                                {"claimed", conditions_json(report.witness.made_for)},
                                {"in", in},
                                {"pattern", report.options.pattern.name},
                                {"witness", report.options.witness},
                                {"made_by", report.witness.made_by},
                                {"threads", report.threads},
                                {"seconds", report.seconds}});
}

std::string verdict_text(const Report& report) {
  const lab::Checked& exact = report.result[lab::Arithmetic::exact];
  if (exact.holds) return "every condition holds, exactly";
  return fmt::format("no: {} of {} rows fail", exact.failing_rows, report.pattern.rows);
}

/// Returns the conditions that the witness says it was made for, and whether they are those that
/// were checked.
std::string claimed_text(const Report& report) {
  const std::string claimed = conditions_text(report.witness.made_for);
  if (claimed == conditions_text(report.conditions)) return "the same";
  return claimed + " (not checked; --as-claimed does)";
}

std::string report_text(const Report& report) {
  const lab::Verification& result = report.result;
  const char* forms = !report.witness.has_inputs()    ? "q, k"
                      : !report.witness.has_queries() ? "x, w_q, w_k"
                                                      : "q, k and x, w_q, w_k";
  std::string text = fmt::format(
      "pattern       {}: {} × {}, {} nonzeros\n"
      "{}witness       {}: {} in {} dimensions\n"
      "conditions    {}\n"
      "claimed       {}\n"
      "verdict       {}\n"
      "norm product  {:.6g}\n"
      "max |L|       {:.6g}\n\n",
      printable(report.options.pattern.name), report.pattern.rows, report.pattern.cols,
      report.pattern.nonzeros(), dropped_text(report.pattern, 14),
      printable(report.options.witness), forms, report.dim(), conditions_text(report.conditions),
      claimed_text(report), verdict_text(report), result.norm_product, result.max_logit);
  std::vector<std::vector<std::string>> rows{
      {"arithmetic", "holds", "failing rows", "worst row", "margin"}};
  for (const lab::Arithmetic a : arithmetics) {
    const lab::Checked& checked = result[a];
    rows.push_back({lab::name_of(a), checked.holds ? "yes" : "no",
                    std::to_string(checked.failing_rows),
                    checked.worst_row < 0 ? "-" : std::to_string(checked.worst_row),
                    checked.worst_row < 0 ? "-" : fmt::format("{:.6g}", checked.margin)});
  }
  return text + table_text(rows);
}

int run_verify(const Options& options, const Globals& globals) {
  if (looks_like_json(options.witness)) {
    const AskedConditions& asked = options.conditions;
    if (asked.eps1 || asked.eps2 || asked.causal || options.as_claimed)
      throw Error(
          Code::usage,
          "--eps1, --eps2, --causal and --as-claimed are for witnesses; a refutation is of weak "
          "conditions");
    return verify_refutation(options.pattern, options.witness, globals);
  }
  const lab::Pattern pattern = options.pattern.read();
  const lab::Witness witness = lab::read_witness(options.witness);
  const lab::Conditions conditions =
      options.conditions.or_else(options.as_claimed ? witness.made_for : lab::Conditions{});
  watch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<lab::Verification> result;
  {
    Shown shown("rows");
    result = lab::verify(pattern, witness, conditions, globals.threads, shown.callback());
  }
  const Report report{
      options, pattern, witness, conditions, *result, threads_of(globals), seconds_since(begin)};
  fmt::print("{}", globals.json ? report_json(report) : report_text(report));
  return result->holds() ? 0 : 1;
}

}  // namespace

Run declare_verify(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis verify data/pattern-32.mtx data/witness-32.safetensors");
  auto options = std::make_shared<Options>();
  add_pattern(app, files, options->pattern);
  files
      .reads(app.add_option("WITNESS", options->witness,
                            "a witness (docs/witness.md) or a refutation (docs/refutation.md)"),
             "WITNESS")
      ->required();
  add_conditions(app, options->conditions);
  app.add_flag("--as-claimed", options->as_claimed,
               "take conditions that are not given from the witness instead of the defaults");
  return [options, &globals] { return run_verify(*options, globals); };
}

}  // namespace tamis::cli
