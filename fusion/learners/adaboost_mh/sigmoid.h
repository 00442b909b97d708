#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fusion/learners/adaboost_mh/calibration_data.h"

namespace metafuse::fusion::adaboost_mh {

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

/// s(x) = 1 / (1 + exp(-a (x - b))), a > 0. The paper prints the exponent as 1/(-a(x-b)), which no sigmoid
/// has.
struct Sigmoid {
  double a = 1.0;
  double b = 0.0;
  friend bool operator==(const Sigmoid&, const Sigmoid&) = default;
};

/// Class probabilities of one document by [4]: s(f_l) over their sum.
void sigmoid_posterior(const Sigmoid& sigmoid, std::span<const double> votes, std::span<double> posterior);

/// Class probabilities by [3]: votes shifted from [-1, 1] into [0, 1], over their sum; uniform when all are
/// -1.
void standard_posterior(std::span<const double> votes, std::span<double> posterior);

/// Bayes score [2]: the expected gain.
double bayes_score(std::span<const double> posterior, std::span<const double> gains);

/// The target function's value, to be minimised.
///
/// cost:   O(documents x K); SN: sum of squares of the queries' documents
double target_value(SigmoidTarget target, const Sigmoid& sigmoid, const CalibrationData& data);

/// The sigmoid that minimises the target: NLopt's Sbplx in (log a, b) from the best of a grid of starts.
///
/// out:    nothing when all votes are equal: there is nothing to fit
/// cost:   about 150 evaluations of the target
std::optional<Sigmoid> fit_sigmoid(SigmoidTarget target, const CalibrationData& data);

}  // namespace metafuse::fusion::adaboost_mh
