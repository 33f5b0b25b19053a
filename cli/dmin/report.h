// What `tamis dmin` found, and the two ways to print it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/dmin.h>

namespace tamis::cli {

struct DminReport {
  lab::DminProblem problem;
  double Q = 1;
  std::int64_t step = 8;
  std::int64_t from = 0;
  std::vector<lab::DminSearch> searches;      ///< by matrix, if that was the method
  std::optional<lab::DminEstimate> estimate;  ///< if this was
  double delta = 0.05;
  double seconds = 0;
  int threads = 0;
};

/// The law for the Q that was asked for.
const lab::DminLaw& law_of(const DminReport& report);
/// The median of the searches, or of the law; 0 if there is none up to 2n.
std::int64_t d_min_of(const DminReport& report);

std::string dmin_table(const DminReport& report);
std::string dmin_json(const DminReport& report);

}  // namespace tamis::cli
