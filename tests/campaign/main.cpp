// tamis_campaign [CHECK] … runs one of the long checks, or all of them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "campaign/campaign.h"

namespace {

struct Check {
  const char* name;
  bool (*run)(const tamis::test::CampaignOptions& options);
};
constexpr Check checks[] = {
    {"exp2", tamis::test::check_exp2},           {"certificates", tamis::test::check_certificates},
    {"adversary", tamis::test::check_adversary}, {"laws", tamis::test::check_laws},
    {"moment", tamis::test::check_moment},       {"dmin", tamis::test::check_dmin},
    {"limit", tamis::test::check_limit},         {"patterns", tamis::test::check_patterns},
    {"decide", tamis::test::check_decide},
};

}  // namespace

int main(int argc, char** argv) try {
  using namespace tamis::test;
  tamis::test::CampaignOptions options;
  options.traces = {TAMIS_DATA_DIR "/smollm2-kjv-8k-small.safetensors"};
  CLI::App app("Long checks of tamis; exit 1 if one finds a violation.", "tamis_campaign");
  std::string check = "all";
  std::vector<std::string> names{"all"};
  for (const Check& each : checks) names.emplace_back(each.name);
  app.add_option("check", check, fmt::format("one of {}", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names));
  app.add_option("traces", options.traces,
                 "Traces whose rows are tried; by default the shipped one");
  app.add_option(
         "--records", options.records,
         "Certificates of sparse results to check at least; a tenth of them by the adversary")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--heads", options.heads, "Heads to plant for every line of the laws")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--pairs", options.pairs, "Pairs of documents to try at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--patterns", options.patterns, "Random 5 x 5 patterns to decide")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--time-limit", options.time_limit, "Seconds for each pattern that is decided")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the synthetic problems")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; 0 takes all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--drawn", options.drawn, "Heads that the adversary draws in a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Steps of each of its searches")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--target", options.target, "The target that it attacks, or all")
      ->capture_default_str();
  app.add_option("--out", options.out, "Write the tables to this Markdown file");
  CLI11_PARSE(app, argc, argv);
  options.command = "tamis_campaign";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];  // paths are shown without the folders of this machine
    options.command += " " + word.substr(word.rfind('/') + 1);
  }

  bool good = true;
  const bool all = check == "all";
  const std::string out = options.out;
  for (const Check& each : checks) {
    if (!all && check != each.name) continue;
    // There is one report per file: if all checks run, it is that of the certificates.
    options.out = !all || each.run == tamis::test::check_certificates ? out : "";
    good = each.run(options) && good;
  }
  return good ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "tamis_campaign: {}\n", error.what());
  return 2;
}
