#include "lab/experiments/axes.h"

#include <algorithm>

#include <tamis/attention.h>

#include "core/fail.h"

namespace tamis::lab::experiments {
namespace {

constexpr double most_keys = 1 << 20;

}  // namespace

SweepAxis single_axis(const char* name, const char* what, double value, double least, double most,
                      bool whole) {
  return {.name = name,
          .what = what,
          .values = {value},
          .least = least,
          .most = most,
          .whole = whole,
          .single = true};
}

SweepAxis axis_R() {
  return {.name = "R",
          .what = "R = B^2 |W|_F of synthetic heads, the same for all n",
          .values = {6},
          .least = 0,
          .most = 100};
}

SweepAxis axis_c() {
  return {.name = "c",
          .what = "factor c of synthetic heads with R = c*sqrt(log n)",
          .values = {3},
          .least = 0,
          .most = 100};
}

SweepAxis axis_n(std::vector<double> values) {
  return {.name = "n",
          .what = "keys that a row sees",
          .values = std::move(values),
          .least = 16,
          .most = 1 << 24,
          .whole = true};
}

SweepAxis axis_eps() {
  return single_axis("eps", "share of mass that may be left out", 0.01, 1e-6, 0.5, false);
}

SweepAxis axis_d() { return single_axis("d", "entries of an input", 64, 1, largest_dim - 1, true); }

SweepAxis axis_queries(double value) {
  return single_axis("queries", "rows of a head", value, 1, 4096, true);
}

SweepAxis axis_replicates(double value) {
  return single_axis("replicates", "heads for every setting", value, 1, 1000, true);
}

SweepAxis axis_n_low(double value) {
  return single_axis("n_low", "shortest synthetic context", value, 2, most_keys, true);
}

SweepAxis axis_n_high(double value) {
  return single_axis("n_high", "longest synthetic context; lengths are log-uniform in between",
                     value, 2, most_keys, true);
}

LengthRange length_range(const GridRequest& request) {
  const LengthRange range{request.whole("n_low"), request.whole("n_high")};
  if (range.low >= range.high)
    core::fail(Code::usage, "{} has n_low = {} and n_high = {}; n_low must be the smaller",
               request.kind.name, range.low, range.high);
  return range;
}

bool GridRequest::has(std::string_view axis) const {
  return std::ranges::find(axes, axis, &AxisValues::axis) != axes.end();
}

const std::vector<double>& GridRequest::values(std::string_view axis) const {
  const auto at = std::ranges::find(axes, axis, &AxisValues::axis);
  if (at == axes.end()) core::fail(Code::internal, "{} has no axis '{}'", kind.name, axis);
  return at->values;
}

std::vector<std::int64_t> GridRequest::wholes(std::string_view axis) const {
  const std::vector<double>& all = values(axis);
  return {all.begin(), all.end()};
}

double GridRequest::value(std::string_view axis) const { return values(axis).front(); }
std::int64_t GridRequest::whole(std::string_view axis) const {
  return static_cast<std::int64_t>(value(axis));
}

}  // namespace tamis::lab::experiments
