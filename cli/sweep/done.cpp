// The results of a sweep as a table, sentences and JSON, and the failures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <tamis/info.h>
#include <tamis/text.h>

#include "sweep/report.h"
#include "terminal/json.h"
#include "terminal/table.h"

namespace tamis::cli {
namespace {

using nlohmann::ordered_json;

std::int64_t count_done(const SweepDone& done) {
  return std::ranges::count_if(done.points,
                               [](const auto& point) { return point && point->result; });
}

/// Returns the error sentences, with the number of points that each applies to.
std::map<std::string, int> failures(const SweepDone& done) {
  std::map<std::string, int> sentences;
  for (const auto& point : done.points)
    if (point && !point->result) ++sentences[point->error];
  return sentences;
}

/// Returns the versions and kernels that made these results. Equal bits are only promised for
/// equal versions and kernels.
std::set<std::string> makers(const SweepDone& done) {
  std::set<std::string> all;
  for (const auto& point : done.points)
    if (point && point->result) all.insert(printable(point->version + " " + point->target));
  return all;
}

}  // namespace

std::string failures_text(const SweepDone& done) {
  int failed = 0;
  std::string sentences;
  for (const auto& [sentence, count] : failures(done)) {
    failed += count;
    sentences +=
        fmt::format("{}{} ({})", sentences.empty() ? "" : "; ", printable(sentence), count);
  }
  if (failed == 0) return {};
  return fmt::format("{} of {} points failed: {}; {} tries them again", failed, done.points.size(),
                     sentences, done.run ? "the same command" : "a run");
}

std::string sweep_table(const SweepDone& done) {
  std::string text = table_text(done.report.table) + '\n';
  if (!done.report.fits.empty()) text += table_text(done.report.fits) + '\n';
  for (const std::string& sentence : done.report.sentences) text += sentence + '\n';
  if (!done.report.sentences.empty()) text += '\n';
  text += fmt::format("{}: {} of {} points done", done.sweep.name(), count_done(done),
                      done.points.size());
  if (done.run)
    text += fmt::format(", {} of them now in {:.3f} s on {} ({})", done.run->computed,
                        done.run->seconds, place_text(done.place), target());
  text += '\n';
  if (const auto by = makers(done); by.size() > 1)
    text += fmt::format("Results are of several versions or targets: {}.\n", fmt::join(by, ", "));
  if (done.without_trace) text += "No --trace: synthetic points alone.\n";
  return text;
}

std::string sweep_json(const SweepDone& done) {
  ordered_json results = ordered_json::array();
  for (std::size_t i = 0; i < done.points.size(); ++i) {
    const auto& point = done.points[i];
    if (!point) continue;
    ordered_json each{{"parameters", ordered_json::parse(done.sweep.points()[i].parameters)},
                      {"seconds", point->seconds}};
    if (point->result)
      each["result"] = ordered_json::parse(*point->result);
    else
      each["error"] = point->error;
    results.push_back(std::move(each));
  }
  int failed = 0;
  for (const auto& [sentence, count] : failures(done)) failed += count;
  ordered_json all{{"sweep", done.sweep.name()},
                   {"store", done.store},
                   {"points", done.points.size()},
                   {"done", count_done(done)},
                   {"failed", failed}};
  if (done.run)
    all.update({{"computed", done.run->computed},
                {"seconds", done.run->seconds},
                {"threads", done.place.threads},
                {"ranks", done.place.ranks}});
  all.update({{"made_by", makers(done)},
              {"table", done.report.table},
              {"fits", done.report.fits},
              {"sentences", done.report.sentences},
              {"results", std::move(results)}});
  return json_text(all);
}

}  // namespace tamis::cli
