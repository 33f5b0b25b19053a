// What the report of `norm` gathers, for its table and its chart.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tamis/lab/law.h>

#include "lab/experiments/regime.h"
#include "lab/experiments/replicates.h"

namespace tamis::lab::experiments {

/// The replicates of one regime.
struct NormSetting {
  Regime regime{};
  Growth growth{};
  std::map<double, std::vector<double>> k{};  ///< n → every replicate's median over its queries
  std::map<double, std::vector<double>> log_k{};   ///< n → every replicate's mean of log k
  std::map<double, std::vector<double>> spread{};  ///< n → every replicate's
};

/// What a setting comes to.
struct NormFound {
  double n = 0;  ///< the largest
  double R = 0;  ///< there
  double k = 0;
  double null = 0;     ///< k of Gaussian rows of spread R/3
  double factor = 1;   ///< by which that misses the geometric mean of k
  double bound = 0;    ///< k of predict_from_norm, a Gaussian row of spread R
  double C_bound = 0;  ///< its exponent
  std::optional<stats::Estimate> C{};
  std::optional<double> C_null;
};

/// A head of the trace; the spread stands for R where the trace has no weights or no bound.
struct NormHead {
  std::string name{};
  std::optional<double> R{};
  double spread = 0;
  double n = 0;
  std::array<double, 3> k{};
  double share = 0;
  double null = 0;
  std::optional<stats::Estimate> C{};
  std::optional<double> predicted{};
  std::optional<double> predicted_C{};
};

std::string norm_chart(const std::vector<NormSetting>& settings,
                       const std::vector<NormFound>& found, const std::vector<NormHead>& heads,
                       const GaussianNull& null, double d);

}  // namespace tamis::lab::experiments
