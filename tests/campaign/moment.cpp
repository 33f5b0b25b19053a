// Measures how far closed-form witnesses reach: the sizes at which they are verified, exactly and
// in f64 or f32, and their logits. Takes half a minute.
#include "lab/realise/curve/moment.h"

#include <fmt/chrono.h>

#include <chrono>

#include <tamis/info.h>
#include <tamis/lab/generate.h>
#include "campaign/campaign.h"
#include "core/parallel.h"
#include "support/lab/witnesses.h"

namespace tamis::test {
namespace {

struct Line {
  lab::Arithmetic hold_in;
  std::int64_t n;
  std::int64_t k;
  double gamma;
};

constexpr lab::Arithmetic f32 = lab::Arithmetic::f32;
constexpr lab::Arithmetic f64 = lab::Arithmetic::f64;
constexpr Line lines[] = {
    {f64, 8192, 1, 1}, {f64, 8192, 2, 2}, {f64, 8192, 3, 2}, {f64, 1024, 5, 2},
    {f32, 8192, 1, 1}, {f32, 4096, 2, 2}, {f32, 1024, 3, 2}, {f32, 200, 5, 2},
};

/// Adds a line to the report. False if the witness does not hold where it should.
bool check(const Line& wanted, const CampaignOptions& options, std::string& report) {
  const lab::Pattern pattern =
      lab::permutations_pattern(wanted.n, wanted.k, wanted.gamma, options.seed);
  const lab::realisation::Candidate made =
      lab::realisation::moment(pattern, {}, wanted.hold_in, options.threads);
  const lab::Witness witness =
      test::witness_of({made.rows, made.dim, made.q}, {made.cols, made.dim, made.k});
  const lab::Verification result = lab::verify(pattern, witness, {}, options.threads);
  const bool good = result.holds() && result[wanted.hold_in].holds;
  const std::string missing = test::arithmetic_shortfall(result);
  report += fmt::format("| {} | {} | {} | {} | {:.3g} | {:.3g} | {:.2g} | {} |\n",
                        lab::name_of(wanted.hold_in), wanted.n, wanted.k, wanted.gamma,
                        result.max_logit, result.norm_product, result[wanted.hold_in].margin,
                        missing.empty() ? "-" : (good ? "" : "FAILS: ") + missing);
  return good;
}

}  // namespace

bool check_moment(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = core::hardware_thread_count();
  const auto start = std::chrono::steady_clock::now();
  std::string table;
  bool good = true;
  for (const Line& wanted : lines) good = check(wanted, options, table) && good;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  publish(fmt::format("# Closed-form witnesses, and how far they reach\n\n"
                      "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s.\n\n"
                      "Unions of k random permutations with values 1 or γ, ε₁ = 0.1, ε₂ = 1, "
                      "dimension 2k; each "
                      "verified in exact arithmetic and in the arithmetic it was made for.\n\n"
                      "| made for | n | k | γ | max \\|L\\| | norm product | margin there "
                      "| does not hold "
                      "where |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n{}",
                      options.command, options.seed, version(), processor(), options.threads,
                      std::chrono::system_clock::now(), took.count(), table),
          options);
  return good;
}

}  // namespace tamis::test
