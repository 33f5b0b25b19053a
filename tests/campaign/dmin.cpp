// Compares the least d of the paper's random construction with known values: medians of searches,
// and medians of the law that p(d) implies. Also compares how often fast and literal draws are
// accepted, at a size that unit tests do not reach. Takes about four minutes on two cores.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include <tamis/info.h>
#include <tamis/lab/dmin.h>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "lab/numbers/random.h"
#include "lab/realise/jl/search.h"
#include "support/lab/draws.h"
#include "support/lab/jl_literal.h"

namespace tamis::test {
namespace {

struct Known {
  std::int64_t k;
  double gamma;
  double eps1;
  std::int64_t n;
  std::int64_t median;
};
// Medians for Q = 1 on a grid of step 8, found by an independent program.
constexpr Known known[] = {{1, 1, 0.5, 128, 96},  {1, 1, 0.5, 256, 128}, {1, 1, 0.5, 512, 160},
                           {1, 1, 0.1, 128, 192}, {1, 1, 0.1, 256, 312}, {1, 1, 0.1, 512, 464},
                           {2, 1, 0.5, 128, 144}, {2, 1, 0.5, 256, 216}, {2, 1, 0.5, 512, 288},
                           {2, 2, 0.5, 128, 144}, {2, 2, 0.5, 256, 232}, {2, 2, 0.5, 512, 328}};
constexpr int matrices = 11;

/// Searches over random matrices. A median passes if it lies within one step of the known one:
/// both are medians of a few searches, and the law spreads over two or three steps.
bool medians(std::string& report, const CampaignOptions& options) {
  bool good = true;
  report += fmt::format(
      "## Medians\n\n"
      "Q = 1, ε₂ = 1, {} matrices each, d by steps of 8. *Law*: the median of the law that p(d) "
      "implies, 20·n draws for every d, on the first matrix (k = 1, whose law does not depend on "
      "it) or on three, with its 95 % range.\n\n"
      "| k | γ | ε₁ | n | known | median | least | most | law | |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      matrices);
  for (const Known& c : known) {
    const lab::DminProblem problem{c.n, c.k, c.gamma, c.eps1, 1, false, options.seed};
    std::vector<std::int64_t> found;
    for (std::int64_t a = 0; a < matrices; ++a)
      found.push_back(lab::search_dmin(problem.pattern(a), problem.conditions(),
                                       problem.draw_seed(a), {.threads = options.threads})
                          .d);
    std::sort(found.begin(), found.end());
    lab::EstimateOptions wanted;
    wanted.matrices = c.k == 1 ? 1 : 3;
    wanted.Q = {1};
    wanted.threads = options.threads;
    std::string law = "-";
    if (c.n <= 256) {  // 20·n draws for every d cost as much as twenty searches
      const lab::DminLaw found_law = lab::estimate_dmin(problem, wanted).laws.front();
      law = fmt::format("{} ({} to {})", found_law.median, found_law.median_low,
                        found_law.median_high);
    }
    const std::int64_t median = found[matrices / 2];
    const bool right = std::abs(median - c.median) <= 8;
    good = good && right;
    report += fmt::format("| {} | {:g} | {:g} | {} | {} | **{}** | {} | {} | {} | {} |\n", c.k,
                          c.gamma, c.eps1, c.n, c.median, median, found.front(), found.back(), law,
                          right ? "" : "DIFFERS");
  }
  return good;
}

/// Compares how many draws both samplers accept at n = 128, where about a tenth is accepted.
bool acceptance(std::string& report, const CampaignOptions& options) {
  constexpr std::int64_t draws = 4000;
  struct Case {
    std::int64_t k;
    double gamma;
    bool causal;
    std::int64_t d;
  };
  bool good = true;
  report += fmt::format(
      "\n## Acceptance, fast against literal\n\nn = 128, ε₁ = .5, ε₂ = 1, {} draws each. They "
      "differ if "
      "|z| > 3.66: level 10⁻³ "
      "over the table.\n\n| k | γ | causal | d | literal | fast | z | |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      draws);
  const int threads = options.threads > 0 ? options.threads : core::hardware_thread_count();
  for (const Case& c :
       {Case{1, 1, false, 96}, {1, 1, false, 112}, {2, 2, false, 160}, {2, 2, true, 160}}) {
    const lab::DminProblem problem{128, c.k, c.gamma, 0.5, 1, c.causal, options.seed};
    const lab::Pattern pattern = problem.pattern(0);
    const lab::realisation::JlTarget target =
        lab::realisation::jl_target(pattern, problem.conditions());
    const BlasThreads one(1);
    const JlLiteral literal(target);
    std::vector<JlLiteral::Space> spaces(static_cast<std::size_t>(threads));
    std::atomic<std::int64_t> accepted{0};
    core::parallel_for(draws, threads, [&](std::int64_t item, int worker) {
      const lab::numbers::Stream stream(options.seed, lab::numbers::Purpose::test,
                                        static_cast<std::uint64_t>(item));
      const auto normals = [&](std::span<double> out) { stream.fill_normal(out); };
      if (literal.draw(c.d / 2, normals, spaces[static_cast<std::size_t>(worker)]) > 0) ++accepted;
    });
    const auto slow = static_cast<double>(accepted) / draws;
    const auto fast =
        static_cast<double>(test::count_accepted(pattern, problem.conditions(), c.d, {0, draws},
                                                 problem.draw_seed(0), threads)) /
        draws;
    const double pooled = 0.5 * (slow + fast);
    const double z = pooled > 0 ? (fast - slow) / std::sqrt(2 * pooled * (1 - pooled) / draws) : 0;
    const bool alike = std::abs(z) <= 3.66;
    good = good && alike;
    report += fmt::format("| {} | {:g} | {} | {} | {:.4f} | {:.4f} | {:.2f} | {} |\n", c.k, c.gamma,
                          c.causal ? "yes" : "no", c.d, slow, fast, z, alike ? "" : "DIFFERS");
  }
  return good;
}

}  // namespace

bool check_dmin(const CampaignOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::string tables;
  bool good = medians(tables, options);
  good = acceptance(tables, options) && good;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  publish(fmt::format("# the least d found again\n\n`{}`, seed {}, tamis {}, {}, {} threads, "
                      "{:%Y-%m-%d}, {:.0f} s.\n\n",
                      options.command, options.seed, version(), processor(),
                      options.threads > 0 ? options.threads : core::hardware_thread_count(),
                      fmt::gmtime(std::time(nullptr)), seconds) +
              tables,
          options);
  return good;
}

}  // namespace tamis::test
