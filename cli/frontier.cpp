// tamis frontier: finds the smallest norm product at each of a few dimensions, and shows the known
// bounds beside it. Takes the time of one descent per dimension.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/error.h>
#include <tamis/info.h>
#include <tamis/lab/realise.h>
#include <tamis/text.h>

#include "command.h"
#include "conditions.h"
#include "numbers.h"
#include "pattern_file.h"
#include "terminal/interrupt.h"
#include "terminal/json.h"
#include "terminal/shown.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* description =
    "Trade dimension against norm for a pattern\n\n"
    "For each number of columns the smallest norm product max|q|*max|k| of a witness that was "
    "found and verified in exact arithmetic, with max |L| beside it: upper bounds on the true "
    "frontier, for nobody knows that one. Marks: the norm product of the matrix of the paper's "
    "equation (9), which its random projection keeps, with the columns that its bound (6) and the "
    "sharper one prove to be enough for that; and log(1/eps1)*(n - k)/n, below which no witness of "
    "any dimension goes if every row and column has k nonzeros.\n\n"
    "--vega writes the same as a Vega-Lite 5 chart with its data inside. --json prints {points: "
    "[{dim, verified, method, norm_product, max_logit, seconds, why}], lower_bound, paper_norm, "
    "bound_6, bound_sharper, conditions, ...}; bounds are in columns (m), null where they exceed "
    "the rows.";

struct Options {
  PatternFile pattern;
  std::string dims;
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  std::optional<std::string> vega;
  AskedConditions conditions;
};

struct Report {
  const Options& options;
  const lab::Pattern& pattern;
  const lab::Conditions& conditions;
  const lab::Frontier& result;
  int threads;
};

ordered_json points_json(const lab::Frontier& result) {
  ordered_json points = ordered_json::array();
  for (const lab::Attempt& point : result.points)
    points.push_back(
        {{"dim", point.dim},
         {"verified", point.verified},
         {"method", point.verified ? ordered_json(lab::name_of(point.method)) : ordered_json()},
         {"norm_product", number_or_null(point.norm_product)},
         {"max_logit", number_or_null(point.max_logit)},
         {"seconds", point.seconds},
         {"why", point.why}});
  return points;
}

std::string report_json(const Report& report) {
  return json_text(ordered_json{{"points", points_json(report.result)},
                                {"lower_bound", report.result.lower_bound},
                                {"paper_norm", unless_weak(report.conditions, report.result.paper)},
                                {"bound_6", bound_json(report.result.paper_bound)},
                                {"bound_sharper", bound_json(report.result.sharper_bound)},
                                {"conditions", conditions_json(report.conditions)},
                                {"pattern", report.options.pattern.name},
                                {"rows", report.pattern.rows},
                                {"columns", report.pattern.cols},
                                {"nonzeros", report.pattern.nonzeros()},
                                {"dropped", report.pattern.dropped},
                                {"seed", report.options.seed},
                                {"threads", report.threads}});
}

std::string bound_text(const Report& report, const std::optional<lab::DimensionBound>& bound) {
  if (report.conditions.weak) return "none for weak conditions";
  if (!bound) return "for square patterns only";
  return fmt::format("{} columns{}", bound->d / 2,
                     bound->vacuous ? ", vacuous: above the rows" : "");
}

std::string report_text(const Report& report) {
  const lab::Frontier& result = report.result;
  std::string text = fmt::format(
      "pattern        {}: {} × {}, {} nonzeros\n"
      "{}conditions     {}\n"
      "lower bound    {}\n"
      "equation (9)   {}\n"
      "bound (6)      {}\n"
      "sharper bound  {}\n\n",
      printable(report.options.pattern.name), report.pattern.rows, report.pattern.cols,
      report.pattern.nonzeros(), dropped_text(report.pattern, 15),
      conditions_text(report.conditions),
      result.lower_bound > 0 ? fmt::format("norm product {:.6g}", result.lower_bound)
                             : "none is known",
      report.conditions.weak ? "none for weak conditions"
                             : fmt::format("norm product {:.6g}", result.paper),
      bound_text(report, result.paper_bound), bound_text(report, result.sharper_bound));
  std::vector<std::vector<std::string>> rows{
      {"columns", "norm product", "max |L|", "method", "seconds"}};
  for (const lab::Attempt& point : result.points)
    rows.push_back({std::to_string(point.dim),
                    point.verified ? fmt::format("{:.5g}", point.norm_product) : "-",
                    point.verified ? fmt::format("{:.5g}", point.max_logit) : "-",
                    point.verified ? lab::name_of(point.method) : point.why,
                    fmt::format("{:.2f}", point.seconds)});
  return text + table_text(rows);
}

ordered_json log_axis(const char* field, const char* title) {
  return {
      {"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"type", "log"}}}};
}

/// Returns a horizontal line across the chart with its name.
ordered_json level(double y, const char* name, const char* colour) {
  const ordered_json data{{"values", {{{"y", y}, {"name", name}}}}};
  return {
      {"data", data},
      {"layer",
       {{{"mark", {{"type", "rule"}, {"color", colour}, {"strokeDash", {5, 4}}}},
         {"encoding", {{"y", log_axis("y", "")}}}},
        {{"mark",
          {{"type", "text"}, {"align", "right"}, {"dy", -6}, {"color", colour}, {"x", "width"}}},
         {"encoding", {{"y", log_axis("y", "")}, {"text", {{"field", "name"}}}}}}}}};
}

/// Returns a mark at the dimension and norm where the paper's construction is proved to work.
ordered_json proved(std::int64_t m, double y, const char* name) {
  const ordered_json point{{"dim", m}, {"y", y}, {"name", name}};
  return {{"data", {{"values", ordered_json::array({point})}}},
          {"encoding", {{"x", log_axis("dim", "")}, {"y", log_axis("y", "")}}},
          {"layer",
           {{{"mark", {{"type", "point"}, {"color", "#888"}, {"filled", true}}}},
            {{"mark", {{"type", "text"}, {"dy", 12}, {"color", "#888"}}},
             {"encoding", {{"text", {{"field", "name"}}}}}}}}};
}

std::string vega_text(const Report& report) {
  const lab::Frontier& result = report.result;
  ordered_json values = ordered_json::array();
  for (const lab::Attempt& point : result.points)
    if (point.verified)
      for (const auto& [what, value] :
           {std::pair("norm product", point.norm_product), std::pair("max |L|", point.max_logit)})
        values.push_back({{"dim", point.dim},
                          {"what", what},
                          {"value", value},
                          {"method", lab::name_of(point.method)}});
  const ordered_json found{
      {"mark", {{"type", "line"}, {"point", true}, {"tooltip", true}}},
      {"encoding",
       {{"x", log_axis("dim", "columns of q and k, m")},
        {"y", log_axis("value", "norm product, max |L|")},
        {"color", {{"field", "what"}, {"type", "nominal"}, {"title", nullptr}}},
        {"shape", {{"field", "method"}, {"type", "nominal"}, {"title", "found by"}}}}}};
  ordered_json layers = ordered_json::array();
  layers.push_back(found);
  if (result.paper > 0)
    layers.push_back(level(result.paper, "equation (9), which the paper projects", "#888"));
  for (const auto& [bound, name] : {std::pair(result.paper_bound, "bound (6)"),
                                    std::pair(result.sharper_bound, "sharper bound")})
    if (bound && !bound->vacuous) layers.push_back(proved(bound->d / 2, result.paper, name));
  if (result.lower_bound > 0)
    layers.push_back(level(result.lower_bound, "no witness below", "#c33"));
  return json_text(
      {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
       {"title", fmt::format("Dimension against norm: {} x {}, {}", report.pattern.rows,
                             report.pattern.cols, conditions_text(report.conditions))},
       {"width", 460},
       {"height", 300},
       {"data", {{"values", values}}},
       {"layer", layers}});
}

int run_frontier(const Options& options, const Globals& globals) {
  const lab::Conditions conditions = options.conditions.or_else({});
  lab::FrontierOptions wanted{.conditions = conditions,
                              .dims = {},
                              .steps = options.steps,
                              .seed = options.seed,
                              .threads = globals.threads};
  if (!options.dims.empty()) wanted.dims = list_of<std::int64_t>("--dims", options.dims);
  const lab::Pattern pattern = options.pattern.read();
  watch_interrupts();
  std::optional<lab::Frontier> result;
  {
    Shown shown("dimensions");
    result = lab::frontier(pattern, wanted, shown.callback());
  }
  stop_if_interrupted();
  const Report report{options, pattern, conditions, *result, threads_of(globals)};
  if (options.vega) write_text(*options.vega, vega_text(report));
  fmt::print("{}", globals.json ? report_json(report) : report_text(report));
  return 0;
}

}  // namespace

Run declare_frontier(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis frontier data/pattern-32.mtx --dims 2,4,8 --steps 200");
  auto options = std::make_shared<Options>();
  add_pattern(app, files, options->pattern);
  app.add_option("--dims", options->dims,
                 "numbers of columns, ascending (default: 2,3,4,6,8,12,...,64)")
      ->type_name("M,...");
  add_conditions(app, options->conditions);
  at_least_one(
      app.add_option("--steps", options->steps,
                     "steps of each descent (default: 2000, or 1000 above four million pairs)")
          ->type_name("N"));
  a_seed(
      app.add_option("--seed", options->seed, "seed of the starts (default: 0)")->type_name("S"));
  files.writes(app.add_option("--vega", options->vega, "write a Vega-Lite chart here (JSON)"));
  return [options, &globals] { return run_frontier(*options, globals); };
}

}  // namespace tamis::cli
