// LIMIT: for how many documents can every pair be the top two of some query, in d dimensions and
// f32? Dense retrieval asks this of embeddings (Weller et al., arXiv 2508.21038, whose free
// embeddings reach the critical n below by gradient descent). n grows by half until a size fails;
// then the gap is halved twice.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <tamis/info.h>
#include <tamis/lab/generate.h>
#include <tamis/lab/realise.h>
#include "campaign/campaign.h"

namespace tamis::test {
namespace {

/// The critical n that Weller et al. fitted to their free embeddings.
double critical(double d) { return -10.53 + 4.03 * d + 0.052 * d * d + 0.0037 * d * d * d; }

struct Point {
  std::int64_t n = 0;
  lab::Method method = lab::Method::descent;
  double norm_product = 0;
  double seconds = 0;
};

/// Looks for a witness in f32 that holds both exactly and with sums rounded to f32.
std::optional<Point> attempt(std::int64_t n, std::int64_t d, lab::Method method,
                             const CampaignOptions& options) {
  lab::RealiseOptions wanted;
  wanted.method = method;
  wanted.conditions.weak = true;
  wanted.dim = d;
  // With many rows, each step moves the keys further, so that fewer steps suffice.
  wanted.steps = std::clamp<std::int64_t>(200'000'000 / (n * n), 200, 1000);
  wanted.seed = options.seed;
  wanted.threads = options.threads;
  const lab::Realisation found = lab::realise(lab::pairs_pattern(n), wanted);
  fmt::print(stderr, "  d = {}, n = {}, {}: {} ({:.1f} s)\n", d, n, lab::name_of(method),
             found.witness ? fmt::format("norm product {:.4g}", found.verification.norm_product)
                           : "nothing",
             found.seconds);
  if (!found.witness || found.witness->q.info().dtype != DType::f32 ||
      !found.verification[lab::Arithmetic::f32].holds)
    return std::nullopt;
  return Point{n, method, found.verification.norm_product, found.seconds};
}

/// The largest n that one method reaches, starting at `first`, with at most `rows` pairs.
std::optional<Point> largest(std::int64_t d, std::int64_t first, std::int64_t rows,
                             lab::Method method, const CampaignOptions& options, bool& stopped) {
  std::optional<Point> best;
  std::int64_t fails = 0;
  stopped = false;
  for (std::int64_t n = first; fails == 0; n += n / 2) {
    if (n * (n - 1) / 2 > rows) {
      stopped = best.has_value();
      return best;
    }
    if (auto point = attempt(n, d, method, options)) {
      best = point;
    } else {
      fails = n;
    }
  }
  for (int halving = 0; best && halving < 2; ++halving) {
    const std::int64_t n = best->n + (fails - best->n) / 2;
    if (auto point = attempt(n, d, method, options)) {
      best = point;
    } else {
      fails = n;
    }
  }
  return best;
}

/// The report so far; long runs may be stopped after any dimension.
std::string page(const std::string& table, double seconds, const CampaignOptions& options) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return fmt::format(
      "# All pairs of n documents\n\n"
      "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s, peak memory {:.0f} MB.\n\n"
      "The largest n found for which a witness of d columns in f32 has, for every pair of n "
      "documents, a query whose two largest logits are theirs: verified in exact arithmetic and "
      "with sums in f32. Sizes start at four times *free* (or at the most pairs allowed), grow by "
      "half until one fails, then the gap is halved twice; at most {} pairs (≥: stopped there, not "
      "by a failure). *free* is the critical n of the free embeddings of Weller et al. (arXiv "
      "2508.21038), −10.53 + 4.03 d + 0.052 d² + 0.0037 d³. *moment*: keys on a circle, the "
      "shortest query for every pair; *descent*: keys and queries by optimisation, then the "
      "shortest queries.\n\n"
      "| d | free n | n here | times free | pairs | method | norm product | seconds |\n"
      "| ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |\n"
      "{}",
      options.command, options.seed, version(), processor(),
      options.threads > 0 ? options.threads : hardware_threads(), fmt::gmtime(std::time(nullptr)),
      seconds, static_cast<double>(usage.ru_maxrss) / 1024, options.pairs, table);
}

/// The better result of the methods that work in d dimensions. In few dimensions keys must lie on
/// a curve, which descent does not find.
std::optional<Point> best_of(std::int64_t d, std::int64_t first, const CampaignOptions& options,
                             bool& more) {
  std::optional<Point> best;
  for (const lab::Method method : {lab::Method::moment, lab::Method::descent}) {
    if (method == lab::Method::descent ? d < 8 : d > 8) continue;
    bool stopped = false;
    const auto point = largest(d, first, options.pairs, method, options, stopped);
    if (point && (!best || point->n > best->n)) {
      best = point;
      more = stopped;
    }
  }
  return best;
}

}  // namespace

bool check_limit(const CampaignOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto most =
      static_cast<std::int64_t>(0.5 + std::sqrt(0.25 + 2 * static_cast<double>(options.pairs)));
  std::string table;
  bool good = true;
  for (const std::int64_t d : {4, 6, 8, 12, 16, 32}) {
    const double known = critical(static_cast<double>(d));
    const auto first = std::min(most, static_cast<std::int64_t>(std::ceil(4 * known)));
    bool more = false;
    if (const auto best = best_of(d, first, options, more)) {
      table += fmt::format("| {} | {:.1f} | {}{} | {:.1f} | {} | {} | {:.3g} | {:.1f} |\n", d,
                           known, more ? "≥ " : "", best->n, static_cast<double>(best->n) / known,
                           best->n * (best->n - 1) / 2, lab::name_of(best->method),
                           best->norm_product, best->seconds);
    } else {
      table += fmt::format("| {} | {:.1f} | none from {} on | | | | | |\n", d, known, first);
      good = good && d != 8 && d != 16;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    publish(page(table, seconds, options), options);
  }
  return good;
}

}  // namespace tamis::test
