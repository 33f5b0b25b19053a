// tamis sweep status: prints the progress of every sweep of a store.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <tamis/text.h>

#include "sweep/report.h"
#include "terminal/duration.h"
#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

double left(const lab::StoredSweep& sweep) {
  return sweep.missing_guess * calibration(sweep.done_seconds, sweep.done_guess);
}

}  // namespace

std::string status_table(const std::string& store, std::span<const lab::StoredSweep> sweeps) {
  if (sweeps.empty()) return fmt::format("{} holds no sweep yet\n", printable(store));
  std::vector<std::vector<std::string>> rows{
      {"sweep", "points", "done", "failed", "other grids", "took", "left, one core"}};
  lab::StoredSweep sum;
  for (const lab::StoredSweep& each : sweeps) {
    rows.push_back({printable(each.sweep), std::to_string(each.points), std::to_string(each.done),
                    std::to_string(each.failed), std::to_string(each.others),
                    duration_text(each.done_seconds), duration_text(left(each))});
    sum.points += each.points;
    sum.done += each.done;
    sum.failed += each.failed;
  }
  return table_text(rows) +
         fmt::format("\n{} of {} points done, {} failed\n", sum.done, sum.points, sum.failed);
}

std::string status_json(const std::string& store, std::span<const lab::StoredSweep> sweeps) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  lab::StoredSweep sum;
  for (const lab::StoredSweep& each : sweeps) {
    list.push_back({{"sweep", each.sweep},
                    {"points", each.points},
                    {"done", each.done},
                    {"failed", each.failed},
                    {"missing", each.points - each.done},
                    {"other_grids", each.others},
                    {"core_seconds", each.done_seconds},
                    {"core_seconds_left", left(each)}});
    sum.points += each.points;
    sum.done += each.done;
    sum.failed += each.failed;
  }
  return json_text({{"store", store},
                    {"points", sum.points},
                    {"done", sum.done},
                    {"failed", sum.failed},
                    {"sweeps", std::move(list)}});
}

}  // namespace tamis::cli
