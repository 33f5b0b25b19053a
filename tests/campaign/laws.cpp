// Fits thousands of heads whose law is known: which law is chosen, and how often intervals for C
// and conformal budgets cover. Takes about two minutes on two cores for 1000 heads per line,
// mostly for Gaussian logits.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <tamis/info.h>
#include <tamis/lab/conformal.h>
#include <tamis/lab/law.h>

#include "campaign/campaign.h"
#include "core/parallel.h"
#include "lab/numbers/random.h"
#include "lab/profile/laws.h"
#include "support/lab/planted.h"

namespace tamis::test {
namespace {

constexpr std::array<lab::Law, 6> shown{lab::Law::constant, lab::Law::logarithmic, lab::Law::power,
                                        lab::Law::linear,   lab::Law::gaussian,    lab::Law::none};
constexpr double apart =
    0.2;  ///< least distance between exponents at which laws must be told apart

/// Slope of a law on log-log scale over the lengths of the planted heads: its effective exponent.
double exponent_over(const Planting& planting, const std::function<double(double)>& log_shape) {
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  constexpr int points = 2000;
  for (int i = 0; i < points; ++i) {
    const double n = planting.n_low + (planting.n_high - planting.n_low) * (i + 0.5) / points;
    const double x = std::log(n);
    const double y = log_shape(n);
    sx += x / points;
    sy += y / points;
    sxx += x * x / points;
    sxy += x * y / points;
  }
  return (sxy - sx * sy) / (sxx - sx * sx);
}

double log_exponent(const Planting& planting) {
  return exponent_over(planting, [](double n) { return std::log(std::log(n)); });
}
double null_exponent(const Planting& planting, const lab::GaussianNull& null, double sigma) {
  return exponent_over(planting, [&](double n) { return null.at(n, sigma).log_mean; });
}

/// The law that BIC chooses: the largest likelihood less log(rows)/2 per parameter, with rows
/// taken as independent.
lab::Law by_bic(const lab::LawFit& fit) {
  lab::Law best = lab::Law::none;
  double least = std::numeric_limits<double>::infinity();
  const auto rows = static_cast<double>(fit.rows);
  for (const lab::LawScore& score : fit.scores) {
    const auto* const entry =
        std::ranges::find(lab::profiling::law_table, score.law, &lab::profiling::LawEntry::law);
    const double parameters = entry->parameters;
    const double squares = score.residual_sd * score.residual_sd * (rows - parameters);
    const double bic = rows * std::log(squares / rows) + parameters * std::log(rows);
    if (bic < least) {
      least = bic;
      best = score.law;
    }
  }
  return best;
}

/// One line of the confusion matrix, for one planted law.
struct Line {
  std::string planted;
  lab::Law truth;
  double distance;  ///< to the exponent of the nearest other law
  std::map<lab::Law, std::int64_t> chosen;
  std::int64_t by_bic = 0;
  std::int64_t heads = 0;
  [[nodiscard]] double share(lab::Law law) const {
    const auto found = chosen.find(law);
    return found == chosen.end() ? 0
                                 : static_cast<double>(found->second) / static_cast<double>(heads);
  }
};

/// Seeds differ between any two heads of a report.
std::uint64_t seed_of(const CampaignOptions& options, std::size_t line, std::int64_t head) {
  return (options.seed << 32) + (static_cast<std::uint64_t>(line) << 24) +
         static_cast<std::uint64_t>(head);
}

using Maker = std::function<PlantedHead(std::int64_t head, const Planting& planting)>;

void try_heads(Line& line, std::size_t number, std::int64_t heads, const Planting& planting,
               const lab::GaussianNull& null, const CampaignOptions& options, const Maker& make) {
  std::vector<lab::Law> chosen(static_cast<std::size_t>(heads));
  std::vector<lab::Law> bic(chosen.size());
  core::parallel_for(heads, options.threads, [&](std::int64_t h, int) {
    Planting own = planting;
    own.seed = seed_of(options, number, h);
    lab::LawOptions law_options;
    law_options.resamples = 99;  // intervals are not used here
    const PlantedHead head = make(h, own);
    const lab::LawFit fit = lab::fit_law(head.rows(), null, law_options);
    chosen[static_cast<std::size_t>(h)] = fit.law;
    bic[static_cast<std::size_t>(h)] = by_bic(fit);
  });
  line.heads = heads;
  for (const lab::Law law : chosen) ++line.chosen[law];
  line.by_bic = std::count(bic.begin(), bic.end(), line.truth);
}

/// The h-th of `heads` evenly spaced exponents in 0 … 1 that are at least `apart` from all rivals.
double separated_exponent(const std::vector<double>& rivals, std::int64_t h, std::int64_t heads) {
  std::vector<double> allowed;
  for (int i = 0; i <= 1000; ++i) {
    const double C = i * 1e-3;
    bool good = true;
    for (const double rival : rivals) good = good && std::abs(C - rival) >= apart;
    if (good) allowed.push_back(C);
  }
  return allowed[static_cast<std::size_t>(h * static_cast<std::int64_t>(allowed.size()) / heads)];
}

double nearest(double C, const std::vector<double>& rivals) {
  double distance = std::numeric_limits<double>::infinity();
  for (const double rival : rivals) distance = std::min(distance, std::abs(C - rival));
  return distance;
}

std::vector<Line> confusion(const CampaignOptions& options, const lab::GaussianNull& null) {
  std::vector<Line> lines;
  for (const double sigma : {-1.0, 2.5, 5.0}) {
    Planting planting;
    planting.sigma = sigma;
    const double log = log_exponent(planting);
    std::vector<double> rivals{0, log, 1};
    const bool with = sigma >= 0;
    const std::string given = with ? fmt::format(", σ = {}", sigma) : "";
    if (with) rivals.push_back(null_exponent(planting, null, sigma));
    const auto add = [&](const std::string& name, lab::Law law, double C, double level) {
      std::vector<double> others;
      for (const double rival : rivals)
        if (law == lab::Law::power || std::abs(rival - C) > 1e-12) others.push_back(rival);
      lines.push_back({name + given, law, nearest(C, others), {}, 0, 0});
      try_heads(lines.back(), lines.size(), options.heads, planting, null, options,
                [=](std::int64_t, const Planting& own) { return plant(law, C, level, own); });
    };
    add("constant", lab::Law::constant, 0, 200);
    add("log n", lab::Law::logarithmic, log, 200);
    if (!with)
      for (int tenth = 1; tenth < 10; ++tenth)
        add(fmt::format("n^.{}", tenth), lab::Law::power, 0.1 * tenth, 200);
    add("n", lab::Law::linear, 1, 400);
    lines.push_back({fmt::format("n^C, C ≥ {} from all rivals{}", apart, given),
                     lab::Law::power,
                     apart,
                     {},
                     0,
                     0});
    try_heads(lines.back(), lines.size(), options.heads, planting, null, options,
              [&](std::int64_t h, const Planting& own) {
                return plant(lab::Law::power, separated_exponent(rivals, h, options.heads), 200,
                             own);
              });
  }
  for (const double sigma : {2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    const Planting planting;
    const double exponent = null_exponent(planting, null, sigma);
    lines.push_back({fmt::format("Gaussian logits, σ = {}: grows as n^{:.2f}", sigma, exponent),
                     lab::Law::gaussian,
                     nearest(exponent, {0, log_exponent(planting), 1}),
                     {},
                     0,
                     0});
    try_heads(lines.back(), lines.size(), std::max<std::int64_t>(1, options.heads / 10), planting,
              null, options, [&](std::int64_t, const Planting& own) {
                return plant_gaussian(sigma, null.eps(), own);
              });
  }
  return lines;
}

/// One line of the table of intervals.
struct Covered {
  std::int64_t rows;
  double correlation;
  double C;
  double share = 0;  ///< share of heads whose interval contains C
  double plain = 0;  ///< the same for slope ± 1.96 standard errors, rows taken as independent
  double width = 0;
  double misfit = 0;  ///< share of heads with a p-value of fit below 1 %
};

void try_intervals(Covered& line, std::size_t number, const CampaignOptions& options,
                   const lab::GaussianNull& null) {
  const auto heads = static_cast<std::size_t>(options.heads);
  std::vector<lab::LawFit> fits(heads);
  std::vector<double> errors(heads);
  core::parallel_for(options.heads, options.threads, [&](std::int64_t h, int) {
    Planting planting;
    planting.rows = line.rows;
    planting.correlation = line.correlation;
    planting.seed = seed_of(options, number, h);
    lab::LawOptions law_options;
    law_options.seed = planting.seed;
    const PlantedHead head = plant(lab::Law::power, line.C, 200, planting);
    lab::LawFit& fit = fits[static_cast<std::size_t>(h)];
    fit = lab::fit_law(head.rows(), null, law_options);
    double mean = 0;
    double squares = 0;
    for (const double n : head.n) mean += std::log(n) / static_cast<double>(line.rows);
    for (const double n : head.n) squares += std::pow(std::log(n) - mean, 2);
    errors[static_cast<std::size_t>(h)] = fit.residual_sd / std::sqrt(squares);
  });
  for (std::size_t h = 0; h < heads; ++h) {
    const lab::LawFit& fit = fits[h];
    const double one = 1 / static_cast<double>(heads);
    line.share += fit.C_low <= line.C && line.C <= fit.C_high ? one : 0;
    line.plain += std::abs(fit.C - line.C) <= 1.959964 * errors[h] ? one : 0;
    line.width += one * (fit.C_high - fit.C_low);
    line.misfit += fit.p_value < 0.01 ? one : 0;
  }
}

std::vector<Covered> intervals(const CampaignOptions& options, const lab::GaussianNull& null) {
  std::vector<Covered> lines;
  for (const std::int64_t rows : {64, 256, 1024})
    for (const double correlation : {0.0, 0.3, 0.6, 0.8}) lines.push_back({rows, correlation, 0.5});
  lines.push_back({256, 0, 0});
  lines.push_back({256, 0, 1});
  for (std::size_t i = 0; i < lines.size(); ++i) try_intervals(lines[i], 64 + i, options, null);
  return lines;
}

/// One line of the table of conformal budgets.
struct Budgeted {
  double delta;
  double correlation;
  double promised = 0;  ///< mean of rank/(m + 1)
  double share = 0;     ///< mean coverage of held-out rows
  double error = 0;     ///< standard error of `share`
};

std::vector<Budgeted> budgets(const CampaignOptions& options) {
  std::vector<Budgeted> lines;
  for (const double delta : {0.05, 0.1, 0.2})
    for (const double correlation : {0.0, 0.6}) {
      Budgeted line{delta, correlation};
      double squares = 0;
      const auto heads = static_cast<double>(options.heads);
      for (std::int64_t h = 0; h < options.heads; ++h) {
        Planting planting;
        planting.correlation = correlation;
        planting.seed = seed_of(options, 128 + lines.size(), h);
        const PlantedHead head = plant(lab::Law::power, 0.5, 1000, planting);
        const std::vector<lab::Part> parts = lab::split_rows(head.n, 0, planting.seed);
        const lab::Conformal rule = lab::calibrate_power(
            head.n, head.k_eps, parts, lab::fit_exponent(head.n, head.k_eps, parts), delta);
        line.promised +=
            static_cast<double>(rule.rank) / static_cast<double>(rule.rows + 1) / heads;
        line.share += rule.held_out.rate / heads;
        squares += rule.held_out.rate * rule.held_out.rate / heads;
      }
      line.error = std::sqrt((squares - line.share * line.share) / heads);
      lines.push_back(line);
    }
  return lines;
}

}  // namespace

bool check_laws(const CampaignOptions& given) {
  CampaignOptions options = given;
  if (options.threads == 0) options.threads = core::hardware_thread_count();
  const auto start = std::chrono::steady_clock::now();
  const lab::GaussianNull null(0.01);
  const std::vector<Line> matrix = confusion(options, null);
  const std::vector<Covered> covered = intervals(options, null);
  const std::vector<Budgeted> calibrated = budgets(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  bool good = true;
  std::string text = fmt::format(
      "# Laws found again\n\n"
      "`{}`, seed {}, tamis {}, {}, {} threads, {:%Y-%m-%d}, {:.0f} s.\n\n"
      "Planted heads: {} a line (a tenth of that for Gaussian logits, which are drawn one by one "
      "and measured at ε = 1 %), 256 rows, lengths uniform over n = 1,024 … 8,192, log-normal "
      "noise .75, k rounded to integers. What the laws and the rules are: "
      "[laws.md](../laws.md).\n\n"
      "## Which law is chosen\n\n"
      "*Distance*: of the exponent to that of the nearest rival. *BIC*: the share that BIC, with "
      "rows taken as independent, gets right.\n\n"
      "| planted | distance |",
      options.command, options.seed, version(), processor(), options.threads,
      std::chrono::system_clock::now(), took.count(), options.heads);
  for (const lab::Law law : shown) text += fmt::format(" {} |", lab::name_of(law));
  text += " right | BIC |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Line& line : matrix) {
    text += fmt::format("| {} | {:.2f} |", line.planted, line.distance);
    for (const lab::Law law : shown) text += fmt::format(" {:.1f} |", 100 * line.share(law));
    const double right = line.share(line.truth);
    text += fmt::format(" **{:.1f} %** | {:.1f} % |\n", 100 * right,
                        100 * static_cast<double>(line.by_bic) / static_cast<double>(line.heads));
    // The two lines that docs/laws.md makes promises about: no head is nearer than `apart` to a
    // rival, and no spread is given.
    if (line.planted == "n" || line.planted == fmt::format("n^C, C ≥ {} from all rivals", apart))
      good = good && right >= 0.9;
  }
  text +=
      "\n"
      "## Intervals for C, stated rate 95 %\n\n"
      "Noise is autoregressive with the given correlation between neighbouring rows. *Plain*: "
      "least squares ± 1.96 standard errors of independent rows. *Misfit*: the true law fails the "
      "test for lack of fit at 1 %.\n\n"
      "| rows | correlation | C | covered | plain | mean width | misfit |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Covered& line : covered) {
    text += fmt::format("| {} | {} | {} | **{:.1f} %** | {:.1f} % | {:.2f} | {:.1f} % |\n",
                        line.rows, line.correlation, line.C, 100 * line.share, 100 * line.plain,
                        line.width, 100 * line.misfit);
    if (line.rows >= 256 && line.correlation <= 0.6) good = good && line.share >= 0.93;
  }
  text +=
      "\n## Conformal budgets α·n^C\n\nC from a third of the rows, α from another, coverage on the "
      "last; "
      "blocks of 8 rows. *Promised*: "
      "⌈(1 − δ)(m + 1)⌉/(m + 1), the expected coverage of a new exchangeable row.\n\n"
      "| δ | correlation | promised | covered | standard error |\n| --- | --- | --- | --- | --- "
      "|\n";
  for (const Budgeted& line : calibrated) {
    text += fmt::format("| {} | {} | {:.2f} % | **{:.2f} %** | {:.2f} % |\n", line.delta,
                        line.correlation, 100 * line.promised, 100 * line.share, 100 * line.error);
    if (line.correlation == 0)
      good = good && std::abs(line.share - line.promised) <= 5 * line.error;
  }
  publish(text, options);
  if (!good) fmt::print("laws: a rate is below what docs/laws.md states\n");
  return good;
}

}  // namespace tamis::test
