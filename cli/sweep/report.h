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
  int threads = 1;  ///< of every rank
  int ranks = 1;
  [[nodiscard]] int points_at_once() const { return threads * ranks; }
};
/// "2 threads", "4 ranks of 1 thread".
std::string place_text(const Place& place);

/// What is known of a sweep, after a run or without one.
struct SweepDone {
  const lab::Sweep& sweep;
  std::string store;
  std::vector<std::optional<lab::StoredPoint>> points;  ///< as the sweep's
  lab::SweepReport report;
  std::optional<lab::RunOutcome> run;
  Place place;
  bool without_trace = false;  ///< it could have had one
};
std::string sweep_table(const SweepDone& done);
std::string sweep_json(const SweepDone& done);
/// "3 of 12 points failed: …", with every sentence once; empty if none did.
std::string failures_text(const SweepDone& done);

/// What a run would do.
struct SweepPlan {
  const lab::Sweep& sweep;
  std::vector<std::optional<lab::StoredPoint>> points;
  Place place;
  bool without_trace = false;
};
std::string plan_table(const SweepPlan& plan);
std::string plan_json(const SweepPlan& plan);

/// `sweeps` as SweepStore::status.
std::string status_table(const std::string& store, std::span<const lab::StoredSweep> sweeps);
std::string status_json(const std::string& store, std::span<const lab::StoredSweep> sweeps);

/// Guesses are of an unknown machine: how many times longer points take here, by those that are
/// done; 1 if none are.
double calibration(double seconds, double guess);

}  // namespace tamis::cli
