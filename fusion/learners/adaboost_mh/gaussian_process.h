#pragma once

#include "fusion/learners/adaboost_mh/regression.h"

namespace metafuse::fusion::adaboost_mh {

/// Fits the coefficients, points, length and offset of a Gaussian process with a squared exponential kernel:
/// length scale and noise by the marginal likelihood of at most 150 of the points, then the process on all.
///
/// Requires a model with its setting and width, and votes that are not constant.
/// cost: O(points^3)
void fit_gaussian_process(Regression& model, const CalibrationData& data, const RegressionOptions& options);

}  // namespace metafuse::fusion::adaboost_mh
