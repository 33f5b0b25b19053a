// tamis bench: measures the time of dense and sparse attention on this machine, at the user's own
// shape.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include <tamis/error.h>

#include "attend/budgets.h"
#include "bench/report.h"
#include "command.h"
#include "files.h"
#include "terminal/interrupt.h"

namespace tamis::cli {
namespace {

constexpr const char* description =
    "What a decode step takes here, dense and sparse\n\n"
    "Fills the cache with the keys and values of some sequences, then takes steps in which every "
    "sequence has one query: by dense attention over pages of 128 tokens in bf16, and by sparse "
    "attention over the cache, in turns. Every step has new queries, and finds keys and values "
    "in memory, not in the CPU's caches. Prints medians, what an appended token takes "
    "(one at a time, coding included), the bytes read as a share of dense, the certified tau, the "
    "true relative error of some rows against attention in f64, how many queries met the budget, "
    "and the memory of the cache.\n\n"
    "Keys are synthetic unless a trace is given. They lie near eight directions in the space of "
    "channels, half of which change slowly along the text, around a mean that differs by channel; "
    "queries lie along the same directions, and each is multiplied by a number such that as many "
    "keys hold 95% of its weight as the law k(n) = k(8192)*(n/8192)^0.61 says, with k(8192) "
    "between 20 and 200, as was found in a small language model. Same seed, same numbers. Other "
    "models have other laws: with --trace the keys, values and queries of a trace are used, its "
    "runs of 128 tokens drawn again and again until there are enough, which keeps more keys of "
    "weight than longer texts have. Two heads of a trace are joined for twice their size.\n\n"
    "--json prints {target, cpu, threads, heads, kv_heads, dim, tokens, batch, steps, budget, "
    "bits, prefer, keys, seed, dense_ms, sparse_ms, append_us, prompt_us, bytes, tau, "
    "relative_error, checked, violations, reached, dense_fallbacks, cache_share, cache_bytes, "
    "version}: bytes, tau and relative_error are {median, p90}; checked is how many rows were "
    "compared with f64, violations how many of them were not as certified (then the exit status is "
    "1); prompt_us is the time per token of a prompt; reached counts queries as that of tamis "
    "attend does.";

struct Options {
  std::string heads = "32/8";
  std::int64_t dim = 128;
  std::int64_t tokens = 65536;
  std::string budget = "mass:0.05";
  std::optional<int> bits;
  std::optional<std::string> trace;
  std::int64_t batch = 1;
  std::int64_t steps = 16;
  std::string prefer = "bytes";
  std::uint64_t seed = 1;
};

struct HeadCounts {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
};

/// Parses "32/8", or "8" for equal numbers of query heads and KV heads. Returns nothing if `text`
/// is neither.
std::optional<HeadCounts> parse_heads(const std::string& text) {
  const auto number = [](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size() ? value : 0;
  };
  const std::size_t slash = text.find('/');
  HeadCounts counts{number(std::string_view(text).substr(0, slash)), 0};
  counts.kv_heads = slash == std::string::npos ? counts.query_heads
                                               : number(std::string_view(text).substr(slash + 1));
  if (counts.query_heads < 1 || counts.kv_heads < 1 || counts.query_heads % counts.kv_heads != 0)
    return {};
  return counts;
}

std::string check_heads(const std::string& text) {
  if (parse_heads(text)) return {};
  return fmt::format(
      "'{}' is not a number of query heads and, after a slash, of KV heads that divides it, as "
      "32/8",
      text);
}

std::string check_dim(const std::string& text) {
  std::int64_t dim = 0;
  if (CLI::detail::lexical_cast(text, dim) && dim >= 1 && dim <= 1024) return {};
  return fmt::format("'{}' is not a whole number from 1 to 1024", text);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
    }
  return "unknown CPU";
}

BenchShape shape_of(const Options& options) {
  const HeadCounts counts = parse_heads(options.heads).value();
  BenchShape shape;
  shape.heads = {counts.query_heads, counts.kv_heads, options.dim, options.dim,
                 1 / std::sqrt(static_cast<float>(options.dim))};
  shape.tokens = options.tokens;
  shape.batch = options.batch;
  shape.steps = options.steps;
  shape.seed = options.seed;
  return shape;
}

/// Throws Error(usage) for a shape that the machine's memory cannot hold, since the system would
/// swap or end the process.
void check_memory(const BenchShape& shape, int bits) {
  const auto numbers = 2.0 * static_cast<double>(shape.batch) *
                       static_cast<double>(shape.heads.kv_heads) *
                       static_cast<double>(shape.tokens) * static_cast<double>(shape.heads.key_dim);
  const auto queries = static_cast<double>(shape.steps) * static_cast<double>(shape.batch) *
                       static_cast<double>(shape.heads.query_heads) *
                       static_cast<double>(shape.heads.key_dim);
  const double needed = numbers * (2 + 1.1 * bits / 8) + 4 * queries;
  const double there =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > 0.9 * there)
    throw Error(
        Code::usage,
        fmt::format("bench: {} sequences of {} tokens take {:.1f} GB, and the machine has {:.1f}; "
                    "choose a smaller --tokens, --batch or --steps",
                    shape.batch, shape.tokens, 1e-9 * needed, 1e-9 * there));
}

int bench(const Options& options, const Globals& globals) {
  if (profile_in(options.budget))
    throw Error(
        Code::usage,
        "--budget: a profile is of a model's heads, which a benchmark does not have; give one "
        "budget for all");
  const Budgets budgets(options.budget);
  const Budget budget = parse_budget(options.budget);
  BenchReport report;
  report.shape = shape_of(options);
  report.settings.bits = options.bits.value_or(bits_for({&budget, 1}));
  report.settings.budget = budget;
  if (options.prefer == "time") report.settings.attend.prefer = Prefer::time;
  report.keys = options.trace.value_or("synthetic");
  report.budget = budgets.text();
  report.cpu = cpu_name();
  check_memory(report.shape, report.settings.bits);
  watch_interrupts();

  Workspace workspace(globals.threads);
  report.threads = workspace.threads();
  const BenchData data = options.trace ? trace_data(*options.trace, report.shape, report.threads)
                                       : synthetic_data(report.shape, report.threads);
  report.shape.heads.scale = data.scale;
  {
    Progress progress({{"append", static_cast<double>(options.tokens)},
                       {"steps", static_cast<double>(options.steps)}});
    report.measured = measure(report.shape, data, report.settings, workspace, progress);
  }
  fmt::print("{}", globals.json ? json_text(report) : table_text(report));
  return report.measured.violations == 0 ? 0 : 1;
}

}  // namespace

Run declare_bench(CLI::App& app, Files& files, const Globals& globals) {
  app.description(description);
  app.footer("tamis bench --heads 4/2 --dim 64 --tokens 4096 --steps 4");
  auto options = std::make_shared<Options>();
  app.add_option("--heads", options->heads, "query heads and KV heads (default: 32/8)")
      ->type_name("H/KV")
      ->check(CLI::Validator(check_heads, "", "heads"));
  app.add_option("--dim", options->dim, "size of a head, of keys and values (default: 128)")
      ->type_name("N")
      ->check(CLI::Validator(check_dim, "", "head size"));
  at_least_one(app.add_option("--tokens", options->tokens, "tokens of a sequence (default: 65536)")
                   ->type_name("N"));
  app.add_option("--budget", options->budget,
                 "how much to read, as in tamis attend (default: mass:0.05)")
      ->type_name("BUDGET");
  one_of(app.add_option("--bits", options->bits,
                        "bits stored of a number (default: 12, or 16 below mass:0.02)"),
         {"8", "12", "16"});
  files.reads(
      app.add_option("--trace", options->trace, "take keys, values and queries from this trace"),
      "TRACE");
  at_least_one(app.add_option("--batch", options->batch, "sequences (default: 1)")->type_name("N"));
  at_least_one(app.add_option("--steps", options->steps, "steps that are timed (default: 16)")
                   ->type_name("N"));
  one_of(app.add_option("--prefer", options->prefer,
                        "what to save where there is a choice (default: bytes)"),
         {"bytes", "time"});
  auto* seed = app.add_option("--seed", options->seed, "seed of all that is drawn (default: 1)")
                   ->type_name("N");
  a_seed(seed);
  return [options, &globals] { return bench(*options, globals); };
}

}  // namespace tamis::cli
