// What `tamis dmin` found, printed as a table or as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/bounds.h>
#include <tamis/lab/dmin.h>

namespace tamis::cli {

struct DminReport {
  lab::DminProblem problem;
  double Q = 1;
  std::int64_t step = 8;
  std::int64_t from = 0;
  std::vector<lab::DminSearch> searches;      ///< one for each matrix, if the method was search
  std::optional<lab::DminEstimate> estimate;  ///< if the method was an estimate
  double delta = 0.05;
  double seconds = 0;
  int threads = 0;
};

/// Returns the law for the Q that was asked for.
const lab::DminLaw& law_of(const DminReport& report);
/// Returns the median least d of the searches or of the law, or 0 if there is none up to 2n.
std::int64_t least_d(const DminReport& report);

std::string dmin_table(const DminReport& report);
std::string dmin_json(const DminReport& report);

}  // namespace tamis::cli
