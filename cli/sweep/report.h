// What `tamis sweep` prints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tamis/lab/run.h>
#include <tamis/lab/store.h>
#include <tamis/lab/sweep.h>

namespace tamis::cli {

/// Where a sweep's points are computed.
struct Place {
  int threads = 1;  ///< of each rank
  int ranks = 1;
  [[nodiscard]] int points_at_once() const { return threads * ranks; }
};
/// "2 threads", "4 ranks of 1 thread".
std::string place_text(const Place& place);

/// What is known about a sweep, whether or not it has just run.
struct SweepDone {
  const lab::Sweep& sweep;
  std::string store;
  std::vector<std::optional<lab::StoredPoint>> points;  ///< in the order of the sweep's points
  lab::SweepReport report;
  std::optional<lab::RunOutcome> run;
  Place place;
  bool without_trace = false;  ///< no trace was given to a sweep that can use one
};
std::string sweep_table(const SweepDone& done);
std::string sweep_json(const SweepDone& done);
/// "3 of 12 points failed: …", with each distinct sentence once. Empty if none failed.
std::string failures_text(const SweepDone& done);

/// The points that a run would compute.
struct SweepPlan {
  const lab::Sweep& sweep;
  std::vector<std::optional<lab::StoredPoint>> points;
  Place place;
  bool without_trace = false;
};
std::string plan_table(const SweepPlan& plan);
std::string plan_json(const SweepPlan& plan);

/// `sweeps` is what SweepStore::status returned.
std::string status_table(const std::string& store, std::span<const lab::StoredSweep> sweeps);
std::string status_json(const std::string& store, std::span<const lab::StoredSweep> sweeps);

/// Returns the factor by which points take longer on this machine than was guessed, estimated from
/// the points that are done: their seconds divided by their guesses. Returns 1 if none are done.
double calibration(double seconds, double guess);

}  // namespace tamis::cli
