#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/model/votes/calibration.h"
#include "lab/learners/adaboost_mh/training_data.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::adaboost_mh {

/// The target functions of class probability calibration (Busa-Fekete et al. 2011, sec. 4.2).
enum class SigmoidTarget {
  log_sigmoid,          ///< LS
  entropy_weighted,     ///< EWLS, C = 2
  expected_loss,        ///< EL, square loss
  expected_label_loss,  ///< ELL, square loss
  smoothed_ndcg,        ///< SN, sigma = 0.01
};
inline constexpr SigmoidTarget kSigmoidTargets[] = {
    SigmoidTarget::log_sigmoid, SigmoidTarget::entropy_weighted, SigmoidTarget::expected_loss,
    SigmoidTarget::expected_label_loss, SigmoidTarget::smoothed_ndcg};
/// "LS", "EWLS", "EL", "ELL", "SN".
std::string_view name_of(SigmoidTarget target);

/// The regressions of the paper: Gaussian process, logistic, linear, neural network, polynomial of degree 2
/// to 5.
std::vector<RegressionSetting> all_regressions();

/// Those that are fitted to so many votes per document: all but polynomials of more than kMostMonomials,
/// whose cost grows with the cube of that number.
std::vector<RegressionSetting> regressions_of(std::size_t width);
inline constexpr std::size_t kMostMonomials = 2000;

/// The value of the target function, which fit_sigmoid() minimises over votes that it arranges only once; of
/// use by itself to judge a fit.
///
/// cost: O(documents x K); per document K + 1 exponentials and, for LS and EWLS, 1 and K logarithms. SN: the
///       sum over queries of the squared number of documents
double target_value(SigmoidTarget target, const Sigmoid& sigmoid, const CalibrationData& data);

/// Fits the sigmoid that minimises the target, by NLopt's Sbplx in (log a, b) from the best of a grid
/// of starts.
///
/// out:    nothing if all votes are equal, because then nothing can be fitted
/// cost:   about 150 evaluations of the target
std::optional<Sigmoid> fit_sigmoid(SigmoidTarget target, const CalibrationData& data);

struct RegressionOptions {
  std::size_t process_points = 500;  ///< largest number of points of a Gaussian process, drawn by the seed
  std::uint64_t seed = 1;
};

/// Fits the gains of the calibration documents.
///
/// errors: bad_data when all votes are equal, because then nothing can be fitted
/// cost:   polynomial O((n + m) m^2) for m monomials; logistic and network 200 gradients; process O(points^3)
Result<Regression> fit_regression(const RegressionSetting& setting, const CalibrationData& data,
                                  const RegressionOptions& options);

/// Class probability calibrations (CPC), regression based ones (RBC), or both.
enum class CalibrationKinds { sigmoids, regressions, all };

struct CalibrationOptions {
  CalibrationKinds kinds = CalibrationKinds::all;
  RegressionOptions regression;
};

/// Fits all requested calibrations. If all votes are equal, a calibration falls back to a constant, the
/// mean gain.
std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options);

}  // namespace metafuse::lab::adaboost_mh
