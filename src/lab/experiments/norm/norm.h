// The data that the report of `norm` collects for its table and its chart.
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

/// The results of the replicates of one regime.
struct NormSetting {
  Regime regime{};
  Growth growth{};
  /// n → every replicate's median of k over its queries.
  std::map<double, std::vector<double>> k{};
  std::map<double, std::vector<double>> log_k{};   ///< n → every replicate's mean of log k
  std::map<double, std::vector<double>> spread{};  ///< n → every replicate's spread of logits
};

/// The summary of one setting.
struct NormFound {
  double n = 0;  ///< the largest n; R, k, null and bound are those at this n
  double R = 0;
  double k = 0;
  double null = 0;     ///< k of Gaussian rows of standard deviation R/3
  double factor = 1;   ///< largest factor, over n, between that and the geometric mean of k
  double bound = 0;    ///< k of predict_from_norm, a Gaussian row of standard deviation R
  double C_bound = 0;  ///< exponent of predict_from_norm
  std::optional<stats::Estimate> C{};
  std::optional<double> C_null;
};

/// A head of the trace. Its logit spread is used in place of R if the trace has no weights
/// or no bound.
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

SweepReport norm_report(const GridRequest& request, const std::vector<DonePoint>& done);

}  // namespace tamis::lab::experiments
