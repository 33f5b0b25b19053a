// Marginal likelihoods of laws: what each predicted of the data, its parameters averaged over their
// priors.
#pragma once

#include "lab/stats/series.h"

namespace tamis::lab::stats {

/// log of the marginal likelihood of y = log alpha + noise with the reference prior d(log alpha)
/// d(log s): proportional to S^{−(rows − 1)/2}. `squares` S > 0 is the sum of squared residuals
/// about the mean, `rows` > 2 the effective number.
double log_evidence(double squares, double rows);

/// The same for y = log alpha + C·x + noise with C uniform on 0 … 1: the integral of the above over
/// C, where S(C) = squares + sxx·(C − slope)².
double log_evidence_power(double squares, double sxx, double slope, double rows);

}  // namespace tamis::lab::stats
