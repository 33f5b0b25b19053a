// The `violation` sweep: how far the sparsity predicted from R still holds when its assumptions
// are relaxed, one dial at a time from 0 (the assumption holds) to 1. The dials are those of
// synthetic_heads.h; report.cpp judges the results. A point takes about 20 ns per entry of a token
// and 8 ns per logit.
#include "lab/experiments/violation/violation.h"

#include "lab/experiments/axes.h"
#include "lab/experiments/synthetic_figures.h"

namespace tamis::lab::experiments {
namespace {

std::vector<GridPoint> points(const GridRequest& request) {
  std::vector<GridPoint> all;
  const auto add = [&](std::string_view dial, double value) {
    add_synthetic(all, request, {{"dial", dial}, {"value", value}, {"R", request.value("R")}});
  };
  add(no_dial, 0);  // the baseline, shared by all dials
  for (const Dial& dial : dials())
    for (const double value : request.values("value")) add(dial.name, value);
  return all;
}

Json compute(const Json& p, const Scene& scene) {
  Synthetic head = synthetic_of(p);
  for (const Dial& dial : dials())
    if (p.at("dial") == dial.name) head.*dial.place = p.at("value");
  const RowFigures rows = synthetic_figures(head, p.at("eps"), scene);
  return {{"k", rows.k_eps}, {"spread", spread_of(rows)}};
}

}  // namespace

const std::array<Dial, 4>& dials() {
  static constexpr std::array<Dial, 4> all{{{"copies", &Synthetic::copies},
                                            {"common", &Synthetic::common},
                                            {"tails", &Synthetic::tails},
                                            {"sinks", &Synthetic::sinks}}};
  return all;
}

const Experiment& violation_experiment() {
  static const Experiment experiment{
      {.name = "violation",
       .what = "what n^C-sparsity loses when independence and boundedness are relaxed",
       .axes = {{.name = "value",
                 .what = "value of a dial; one dial is turned at a time, and 0 is always there",
                 .values = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1},
                 .least = 1e-3,
                 .most = 1},
                axis_n({256, 1024, 4096, 16384}),
                single_axis("R", "B^2*|W|_F", 9, 0.1, 100, false),
                axis_eps(),
                axis_d(),
                axis_queries(64),
                axis_replicates(12)}},
      points,
      compute,
      violation_report};
  return experiment;
}

}  // namespace tamis::lab::experiments
