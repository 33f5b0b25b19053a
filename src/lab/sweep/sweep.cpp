// Validates a request against its kind of sweep and makes the grid.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <tamis/lab/sweep.h>
#include <tamis/text.h>

#include "core/fail.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/inside_of.h"
#include "lab/experiments/experiment.h"
#include "lab/io/json_keys.h"

namespace tamis::lab {
namespace {

/// All sweeps, in the order of the papers.
const std::vector<const experiments::Experiment*>& all_experiments() {
  static const std::vector<const experiments::Experiment*> all{
      &experiments::fig3_experiment(),      &experiments::fig4_experiment(),
      &experiments::frontier_experiment(),  &experiments::window_experiment(),
      &experiments::length_experiment(),    &experiments::norm_experiment(),
      &experiments::violation_experiment(), &experiments::alpha_experiment(),
      &experiments::collapse_experiment(),
  };
  return all;
}

const experiments::Experiment& experiment_named(const std::string& name) {
  std::vector<std::string> known;
  for (const experiments::Experiment* each : all_experiments()) {
    if (each->kind.name == name) return *each;
    known.push_back(each->kind.name);
  }
  core::fail(Code::usage, "there is no sweep '{}'; available: {}", printable(name),
             fmt::join(known, ", "));
}

void check_values(const SweepKind& kind, const SweepAxis& axis, const std::vector<double>& values) {
  if (values.empty())
    core::fail(Code::usage, "the axis {} of {} has no value; give one", axis.name, kind.name);
  if (axis.single && values.size() > 1)
    core::fail(Code::usage, "the axis {} of {} has {} values; it takes one", axis.name, kind.name,
               values.size());
  for (const double x : values) {
    if (!(x >= axis.least && x <= axis.most) || (axis.whole && x != std::floor(x)))
      core::fail(Code::usage, "the axis {} of {} has the value {}; it takes {} from {} to {}",
                 axis.name, kind.name, x, axis.whole ? "whole numbers" : "numbers", axis.least,
                 axis.most);
    if (std::ranges::count(values, x) > 1)
      core::fail(Code::usage, "the axis {} of {} has the value {} twice; give it once", axis.name,
                 kind.name, x);
  }
}

std::vector<AxisValues> axes_of(const SweepKind& kind, const SweepRequest& request) {
  std::vector<AxisValues> all;
  std::vector<std::string> names;
  for (const SweepAxis& axis : kind.axes) {
    all.push_back({axis.name, axis.values});
    names.push_back(axis.name);
  }
  std::set<std::string> given;
  for (const AxisValues& each : request.axes) {
    const auto at = std::ranges::find(names, each.axis);
    if (at == names.end())
      core::fail(Code::usage, "{} has no axis '{}'; it has {}", kind.name, printable(each.axis),
                 fmt::join(names, ", "));
    if (!given.insert(each.axis).second)
      core::fail(Code::usage, "the axis {} of {} is given twice; give it once", each.axis,
                 kind.name);
    const auto place = static_cast<std::size_t>(at - names.begin());
    check_values(kind, kind.axes[place], each.values);
    all[place].values = each.values;
  }
  return all;
}

std::string hash_of(const std::string& path) {
  const auto file = core::open_file(path);
  core::Hash hash;
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::int64_t at = 0; at < file->size();) {
    const auto size = std::min(static_cast<std::int64_t>(piece.size()), file->size() - at);
    const auto part = std::span(piece).first(static_cast<std::size_t>(size));
    file->read_at(at, part);
    hash.add(part);
    at += size;
  }
  return hash.hex();
}

}  // namespace

struct Sweep::Impl {
  explicit Impl(const SweepRequest& request) : experiment(experiment_named(request.name)) {
    if (request.trace && !experiment.kind.takes_trace)
      core::fail(Code::usage, "{} has no points over a trace; leave the trace out",
                 experiment.kind.name);
    if (request.trace)
      trace.emplace(experiments::SweepTrace{request.trace->substr(request.trace->rfind('/') + 1),
                                            hash_of(*request.trace), Trace(*request.trace)});
    grid.emplace(experiments::GridRequest{experiment.kind, axes_of(experiment.kind, request),
                                          request.seed, trace ? &*trace : nullptr});
    std::set<std::string> known;
    for (experiments::GridPoint& point : experiment.points(*grid)) {
      if (experiment.revision != 1) point.parameters["revision"] = experiment.revision;
      std::string text = point.parameters.dump();
      if (!known.insert(text).second)
        core::fail(Code::internal, "{} has the point {} twice", experiment.kind.name, text);
      points.push_back({std::move(text), point.seconds});
      parameters.push_back(std::move(point.parameters));
    }
    if (points.empty())
      core::fail(Code::usage, "{} has no points with these axes{}", experiment.kind.name,
                 experiment.kind.takes_trace && !trace ? " and no trace" : "");
  }

  const experiments::Experiment& experiment;
  std::optional<experiments::SweepTrace> trace;
  std::optional<experiments::GridRequest> grid;
  std::vector<SweepPoint> points;
  std::vector<experiments::Json> parameters;
};

Sweep::Sweep(const SweepRequest& request) : impl_(std::make_unique<const Impl>(request)) {}
Sweep::~Sweep() = default;
Sweep::Sweep(Sweep&&) noexcept = default;
Sweep& Sweep::operator=(Sweep&&) noexcept = default;

const Sweep::Impl& Sweep::inside() const { return core::inside_of(impl_, "a Sweep"); }
const std::string& Sweep::name() const { return inside().experiment.kind.name; }
std::span<const SweepPoint> Sweep::points() const { return inside().points; }

std::string Sweep::compute(std::size_t point, int threads, const ProgressCallback& progress) const {
  if (point >= inside().points.size())
    core::fail(Code::usage, "point {} was asked for; {} has {}", point, name(),
               inside().points.size());
  const experiments::Scene scene{inside().trace ? &*inside().trace : nullptr, threads, progress};
  return inside().experiment.compute(inside().parameters[point], scene).dump();
}

SweepReport Sweep::report(std::span<const std::optional<std::string>> results) const {
  if (results.size() != inside().points.size())
    core::fail(Code::usage, "{} results were given; {} has {} points", results.size(), name(),
               inside().points.size());
  std::vector<experiments::DonePoint> done;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    io::refuse_repeated_keys(
        fmt::format("the result of {} {}", name(), impl_->points[i].parameters), *results[i]);
    experiments::Json result = experiments::Json::parse(*results[i], nullptr, false);
    if (!result.is_object())
      core::fail(Code::input, "the result of {} {} is not a JSON object", name(),
                 inside().points[i].parameters);
    done.push_back({inside().parameters[i], std::move(result)});
  }
  try {
    return inside().experiment.report(*inside().grid, done);
  } catch (const experiments::Json::exception& error) {
    core::fail(Code::input, "the results of {} are not what it makes: {}", name(),
               printable(error.what()));
  }
}

const std::vector<SweepKind>& sweep_kinds() {
  static const std::vector<SweepKind> kinds = [] {
    std::vector<SweepKind> all;
    for (const experiments::Experiment* each : all_experiments()) all.push_back(each->kind);
    return all;
  }();
  return kinds;
}

}  // namespace tamis::lab
