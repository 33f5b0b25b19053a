// tamis pattern: describes a pattern from a file, or makes one and writes it. Time and memory are
// proportional to its nonzeros; `trace` also reads one layer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <tamis/error.h>
#include <tamis/lab/generate.h>
#include <tamis/text.h>

#include "command.h"
#include "pattern_file.h"
#include "terminal/json.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* description =
    "Describe a pattern, or make one\n\n"
    "A pattern is a sparse matrix whose rows are to be attention: of each row the ratios of its "
    "nonzeros matter. PATTERN is a file (Matrix Market, .npy or TREC qrels), or one of these words "
    "(./WORD is a file of that name), with the options that it takes; those in brackets may be "
    "left out:\n\n"
    "  permutations  --n N --k K [--gamma G] [--seed S]\n"
    "                the union of K random permutations, values 1 or G\n"
    "  causal        --n N --k K [--gamma G] [--seed S]\n"
    "                K random columns j <= i in row i, values 1 or G\n"
    "  banded        --n N --reach R [--causal]\n"
    "                ones where |i - j| <= R\n"
    "  block         --n N --size S [--causal]\n"
    "                ones where i and j are in the same block of S\n"
    "  pairs         --n N\n"
    "                a row for each of the N(N - 1)/2 pairs of columns\n"
    "  trace         --trace TRACE --layer L --head H --k K\n"
    "                each query's K heaviest keys with their weights\n\n"
    "Printed are its size, the most nonzeros of a row and of a column (k), the largest ratio of "
    "two nonzeros of a row (gamma), and whether it is causal: square, nothing above the diagonal. "
    "--out writes it as Matrix Market, so a file of another kind is converted; names of topics and "
    "documents are not kept. --json prints {pattern, rows, columns, nonzeros, dropped, k_rows, "
    "k_columns, gamma, causal, out}; gamma is null if it is beyond f64.";

struct Options {
  PatternFile pattern;
  std::optional<std::int64_t> n;
  std::optional<std::int64_t> k;
  std::optional<double> gamma;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> reach;
  std::optional<std::int64_t> size;
  bool causal = false;
  std::optional<std::string> trace;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> head;
  std::optional<std::string> out;
};

/// A kind of pattern that the command can make, with the options that it needs and the options
/// that it may have.
struct Kind {
  const char* name;
  std::vector<std::string> needs;
  std::vector<std::string> takes;
  lab::Pattern (*make)(const Options& o);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"permutations",
       {"--n", "--k"},
       {"--gamma", "--seed"},
       [](const Options& o) {
         return lab::permutations_pattern(*o.n, *o.k, o.gamma.value_or(1), o.seed.value_or(0));
       }},
      {"causal",
       {"--n", "--k"},
       {"--gamma", "--seed"},
       [](const Options& o) {
         return lab::causal_pattern(*o.n, *o.k, o.gamma.value_or(1), o.seed.value_or(0));
       }},
      {"banded",
       {"--n", "--reach"},
       {"--causal"},
       [](const Options& o) { return lab::banded_pattern(*o.n, *o.reach, o.causal); }},
      {"block",
       {"--n", "--size"},
       {"--causal"},
       [](const Options& o) { return lab::block_pattern(*o.n, *o.size, o.causal); }},
      {"pairs", {"--n"}, {}, [](const Options& o) { return lab::pairs_pattern(*o.n); }},
      {"trace",
       {"--trace", "--layer", "--head", "--k"},
       {},
       [](const Options& o) {
         return lab::top_keys_pattern(lab::Trace(*o.trace), *o.layer, *o.head, *o.k);
       }},
  };
  return all;
}

const Kind* kind_named(std::string_view name) {
  const auto kind = std::ranges::find(kinds(), name, &Kind::name);
  return kind == kinds().end() ? nullptr : &*kind;
}

/// Returns the names of the options for making a pattern that were given.
std::vector<std::string> given_options(const Options& o) {
  const std::pair<const char*, bool> all[] = {
      {"--n", o.n.has_value()},         {"--k", o.k.has_value()},
      {"--gamma", o.gamma.has_value()}, {"--seed", o.seed.has_value()},
      {"--reach", o.reach.has_value()}, {"--size", o.size.has_value()},
      {"--causal", o.causal},           {"--trace", o.trace.has_value()},
      {"--layer", o.layer.has_value()}, {"--head", o.head.has_value()}};
  std::vector<std::string> given;
  for (const auto& [name, is_given] : all)
    if (is_given) given.emplace_back(name);
  return given;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

void check_options(const Kind& kind, const std::vector<std::string>& given) {
  for (const std::string& option : kind.needs)
    if (!contains(given, option))
      throw Error(Code::usage, fmt::format("pattern {} needs {}; give {}", kind.name, option,
                                           fmt::join(kind.needs, ", ")));
  for (const std::string& option : given) {
    if (contains(kind.needs, option) || contains(kind.takes, option)) continue;
    throw Error(Code::usage,
                fmt::format("{} says nothing about pattern {}, which takes {}{}{}", option,
                            kind.name, fmt::join(kind.needs, ", "), kind.takes.empty() ? "" : ", ",
                            fmt::join(kind.takes, ", ")));
  }
}

lab::Pattern pattern_of(const Options& options) {
  const Kind* kind = kind_named(options.pattern.name);
  std::vector<std::string> given = given_options(options);
  if (kind != nullptr) {
    if (options.pattern.drop_empty) given.emplace_back("--drop-empty");
    check_options(*kind, given);
    return kind->make(options);
  }
  if (!given.empty()) {
    std::vector<std::string> names;
    for (const Kind& known : kinds()) names.emplace_back(known.name);
    throw Error(
        Code::usage,
        fmt::format("{} is for patterns that are made ({}), and '{}' is none of them; a file takes "
                    "only --out and --drop-empty",
                    given.front(), fmt::join(names, ", "), printable(options.pattern.name)));
  }
  return options.pattern.read();
}

int run_pattern(const Options& options, const Globals& globals) {
  const lab::Pattern pattern = pattern_of(options);
  const lab::PatternFigures figures = lab::figures_of(pattern);
  if (options.out) lab::write_matrix_market(*options.out, pattern);
  if (globals.json) {
    fmt::print(
        "{}",
        json_text(ordered_json{
            {"pattern", options.pattern.name},
            {"rows", pattern.rows},
            {"columns", pattern.cols},
            {"nonzeros", pattern.nonzeros()},
            {"dropped", pattern.dropped},
            {"k_rows", figures.most_per_row},
            {"k_columns", figures.most_per_column},
            {"gamma", std::isfinite(figures.gamma) ? ordered_json(figures.gamma) : ordered_json()},
            {"causal", figures.causal},
            {"out", options.out ? ordered_json(*options.out) : ordered_json()}}));
    return 0;
  }
  fmt::print(
      "pattern   {}\n"
      "size      {} × {}\n"
      "nonzeros  {}\n"
      "{}k         {} by rows, {} by columns\n"
      "gamma     {}\n"
      "causal    {}\n",
      printable(options.pattern.name), pattern.rows, pattern.cols, pattern.nonzeros(),
      dropped_text(pattern, 10), figures.most_per_row, figures.most_per_column, figures.gamma,
      figures.causal ? "yes" : "no");
  return 0;
}

}  // namespace

Run declare_pattern(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis pattern permutations --n 1024 --k 2 --gamma 2");
  auto options = std::make_shared<Options>();
  const auto unless_made = [](const std::string& pattern) {
    return kind_named(pattern) ? std::nullopt : std::optional(pattern);
  };
  files
      .reads(
          app.add_option("PATTERN", options->pattern.name, "a file, or a word from the list above"),
          "PATTERN", unless_made)
      ->required();
  add_drop_empty(app, options->pattern);
  app.add_option("--n", options->n, "columns, and but for pairs also rows")->type_name("N");
  app.add_option("--k", options->k, "nonzeros in a row")->type_name("K");
  app.add_option("--gamma", options->gamma, "the larger of the two values (default: 1)")
      ->type_name("G");
  a_seed(app.add_option("--seed", options->seed, "seed of random patterns (default: 0)")
             ->type_name("S"));
  app.add_option("--reach", options->reach, "distance from the diagonal")->type_name("R");
  app.add_option("--size", options->size, "indices in a block")->type_name("S");
  app.add_flag("--causal", options->causal, "keep columns up to i in row i");
  add_trace(app, files, "--trace", options->trace);
  app.add_option("--layer", options->layer, "a layer of the trace")->type_name("L");
  app.add_option("--head", options->head, "a query head of that layer, from 0")->type_name("H");
  files.writes(
      app.add_option("--out", options->out, "write the pattern to this file, as Matrix Market"));
  return [options, &globals] { return run_pattern(*options, globals); };
}

}  // namespace tamis::cli
