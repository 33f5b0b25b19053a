// tamis_campaign [exp2|certificates|laws|moment|dmin|limit] …: one of the long checks, or all of them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "campaign/campaign.h"

int main(int argc, char** argv) try {
  using namespace tamis::testing;
  CampaignOptions options;
  options.traces = {TAMIS_DATA_DIR "/smollm2-kjv-8k-small.safetensors"};
  CLI::App app("Long checks of tamis; exit 1 if one finds a violation.", "tamis_campaign");
  std::string check = "all";
  app.add_option("check", check, "exp2, certificates, laws, moment, dmin, limit or all")
      ->check(CLI::IsMember({"exp2", "certificates", "laws", "moment", "dmin", "limit", "all"}));
  app.add_option("traces", options.traces, "Traces whose rows are tried; by default the shipped one");
  app.add_option("--records", options.records, "Certificates of sparse results to check at least")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--heads", options.heads, "Heads to plant for every line of the laws")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--pairs", options.pairs, "Pairs of documents to try at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the synthetic problems")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; 0 takes all cores")->check(CLI::NonNegativeNumber);
  app.add_option("--out", options.out, "Write the tables to this Markdown file");
  CLI11_PARSE(app, argc, argv);
  options.command = "tamis_campaign";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];  // paths without the folders of this machine
    options.command += " " + word.substr(word.rfind('/') + 1);
  }

  bool good = true;
  const bool all = check == "all";
  if (all || check == "exp2") good = check_exp2() && good;
  if (all || check == "certificates") good = check_certificates(options) && good;
  if (all) options.out.clear();  // one report per file: that of the certificates
  if (all || check == "laws") good = check_laws(options) && good;
  if (all || check == "moment") good = check_moment(options) && good;
  if (all || check == "dmin") good = check_dmin(options) && good;
  if (all || check == "limit") good = check_limit(options) && good;
  return good ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "tamis_campaign: {}\n", error.what());
  return 2;
}
