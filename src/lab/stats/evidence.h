// Marginal likelihoods of laws: the probability of the data under each law, averaged over the
// priors of its parameters.
#pragma once

#include "lab/stats/series.h"

namespace tamis::lab::stats {

/// Log of the marginal likelihood of y = log alpha + noise with the reference prior d(log alpha)
/// d(log s), where s is the standard deviation of the noise. It is proportional to S^{−(rows −
/// 1)/2}. `squares` S > 0 is the sum of squared residuals about the mean, and `rows` > 2 is the
/// effective number of rows.
double log_evidence(double squares, double rows);

/// The same for y = log alpha + C·x + noise with C uniform on 0 … 1: the integral over C of the
/// above, with S(C) = squares + sxx·(C − slope)².
double log_evidence_power(double squares, double sxx, double slope, double rows);

}  // namespace tamis::lab::stats
