// What a kind of sweep is made of: the axes of its grid, and the report on its points.
#pragma once

#include <string>
#include <vector>

namespace tamis::lab {

/// One axis of a grid. The grid has a point for every combination of its axes' values. Some
/// axes hold a single value that says how the points are computed (such as how many
/// matrices are drawn).
struct SweepAxis {
  std::string name;
  std::string what;            ///< a clause that describes the axis
  std::vector<double> values;  ///< default values
  double least = 0;            ///< least allowed value; `most` is the greatest
  double most = 0;
  bool whole = false;   ///< values must be whole numbers
  bool single = false;  ///< the axis takes exactly one value
};

struct SweepKind {
  std::string name;  ///< name on the command line
  std::string what;  ///< description, one line
  std::vector<SweepAxis> axes;
  bool takes_trace = false;  ///< adds points over a trace, if one is given
};

struct AxisValues {
  std::string axis;
  std::vector<double> values;
};

/// The findings of a sweep.
struct SweepReport {
  std::vector<std::vector<std::string>> table;  ///< the first row is the heading
  /// A table of fitted parameters, also with a heading; empty if nothing was fitted.
  std::vector<std::vector<std::string>> fits;
  /// Two sentences that say, with numbers, whether the paper's claim held.
  std::vector<std::string> sentences;
  std::string vega;  ///< a Vega-Lite 5 chart with its data embedded
};

}  // namespace tamis::lab
