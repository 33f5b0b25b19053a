// The report of --dry-run: every point with an estimate of its time, and how long all of them will
// take.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>

#include "sweep/report.h"
#include "terminal/duration.h"
#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

struct Estimate {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  double factor = 1;  ///< multiplies the guesses
  double cpu = 0;     ///< seconds left on one core
  double wall = 0;    ///< seconds left on all threads and ranks
};

/// Returns the seconds until all points are done if each is given, longest first, to the next
/// worker that is free.
double wall_seconds(std::vector<double> guesses, int at_once) {
  std::ranges::sort(guesses, std::greater<>());
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < at_once; ++i) free_at.push(0);
  double end = 0;
  for (const double guess : guesses) {
    const double ended = free_at.top() + guess;
    free_at.pop();
    free_at.push(ended);
    end = std::max(end, ended);
  }
  return end;
}

Estimate estimate(const SweepPlan& plan) {
  Estimate result;
  double seconds = 0;
  double guess = 0;
  std::vector<double> missing;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const auto& known = plan.points[i];
    if (known && known->result) {
      ++result.done;
      seconds += known->seconds;
      guess += plan.sweep.points()[i].seconds;
    } else {
      result.failed += known ? 1 : 0;
      missing.push_back(plan.sweep.points()[i].seconds);
    }
  }
  result.factor = calibration(seconds, guess);
  for (double& each : missing) result.cpu += each *= result.factor;
  result.wall = wall_seconds(std::move(missing), plan.place.points_at_once());
  return result;
}

const char* state_of(const std::optional<lab::StoredPoint>& point) {
  if (!point) return "missing";
  return point->result ? "done" : "failed";
}

}  // namespace

double calibration(double seconds, double guess) {
  return seconds > 0 && guess > 0 ? seconds / guess : 1;
}

std::string place_text(const Place& place) {
  const std::string threads =
      fmt::format("{} thread{}", place.threads, place.threads == 1 ? "" : "s");
  return place.ranks == 1 ? threads : fmt::format("{} ranks of {}", place.ranks, threads);
}

std::string plan_table(const SweepPlan& plan) {
  const Estimate all = estimate(plan);
  std::vector<std::vector<std::string>> rows{{"seconds", "state", "point"}};
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const auto& known = plan.points[i];
    const double seconds =
        known && known->result ? known->seconds : all.factor * plan.sweep.points()[i].seconds;
    rows.push_back(
        {fmt::format("{:.3g}", seconds), state_of(known), plan.sweep.points()[i].parameters});
  }
  std::string text = table_text(rows, LastColumn::words);
  text += fmt::format("\n{}: {} points, {} done, {} failed, {} to compute", plan.sweep.name(),
                      plan.points.size(), all.done, all.failed,
                      static_cast<std::int64_t>(plan.points.size()) - all.done);
  text += fmt::format("\nabout {} on {}, {} on one core\n", duration_text(all.wall),
                      place_text(plan.place), duration_text(all.cpu));
  if (all.done > 0)
    text += fmt::format(
        "Times of missing points are guesses, {:.2g}-fold after the {} that are done.\n",
        all.factor, all.done);
  else
    text += "Times are guesses; once points are done, these say how long others take here.\n";
  if (plan.without_trace) text += "No --trace: synthetic points alone.\n";
  return text;
}

std::string plan_json(const SweepPlan& plan) {
  const Estimate all = estimate(plan);
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    list.push_back({{"parameters", ordered_json::parse(plan.sweep.points()[i].parameters)},
                    {"state", state_of(plan.points[i])},
                    {"guess", all.factor * plan.sweep.points()[i].seconds}});
  const auto points = static_cast<std::int64_t>(plan.points.size());
  return json_text({{"sweep", plan.sweep.name()},
                    {"dry_run", true},
                    {"points", points},
                    {"done", all.done},
                    {"failed", all.failed},
                    {"missing", points - all.done},
                    {"calibrated", all.done > 0},
                    {"factor", all.factor},
                    {"core_seconds", all.cpu},
                    {"seconds", all.wall},
                    {"threads", plan.place.threads},
                    {"ranks", plan.place.ranks},
                    {"list", std::move(list)}});
}

}  // namespace tamis::cli
