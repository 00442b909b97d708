#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/learners/adaboost_mh/regression.h"
#include "fusion/learners/adaboost_mh/training_data.h"

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

/// s(x) = 1 / (1 + exp(-a (x - b))), a > 0. The paper prints the exponent as 1/(-a(x-b)), which does not give
/// a sigmoid.
struct Sigmoid {
  double a = 1.0;
  double b = 0.0;
};

/// The class probabilities of one document by eq. (4): s(f_l), divided by their sum.
void sigmoid_posterior(const Sigmoid& sigmoid, std::span<const double> votes, std::span<double> posterior);

/// The same for many documents. Each matrix has one column of `documents` numbers per class.
///
/// in: scratch - room for one number per document
void sigmoid_posteriors(const Sigmoid& sigmoid, std::span<const double> votes, std::size_t documents,
                        std::span<double> posteriors, std::span<double> scratch);

/// Class probabilities by eq. (3): votes shifted from [-1, 1] to [0, 1], divided by their sum; uniform if
/// all votes are -1.
void standard_posterior(std::span<const double> votes, std::span<double> posterior);

/// The Bayes score, eq. (2): the expected gain.
double bayes_score(std::span<const double> posterior, std::span<const double> gains);

/// The value of the target function, to be minimised.
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

/// Maps a document's votes to a score in [0, 1]: a sigmoid's Bayes score divided by the highest gain, a
/// scaled regression, or a constant if the votes carried no information.
///
/// Differs from Busa-Fekete et al. 2011: Bayes scores are divided by the highest gain, so that both kinds
/// enter an ensemble on the same scale. Within one kind this changes nothing.
struct Calibration {
  std::string name;  ///< "LS", "polynomial 3", ...
  std::optional<Sigmoid> sigmoid;
  std::optional<Regression> regression;
  double constant = 0.0;

  bool is_constant() const { return !sigmoid && !regression; }
  /// `buffer` has room for one number per class.
  double score(std::span<const double> votes, std::span<const double> gains, std::span<double> buffer) const;
};

/// Class probability calibrations (CPC), regression based ones (RBC), or both.
enum class CalibrationKinds { sigmoids, regressions, all };

struct CalibrationOptions {
  CalibrationKinds kinds = CalibrationKinds::all;
  RegressionOptions regression;
};

/// Fits all requested calibrations. If all votes are equal, a calibration falls back to a constant, the
/// mean gain.
std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options);

JsonObject to_json(const Calibration& calibration);
/// errors: bad_data, naming the field
Result<Calibration> read_calibration(const JsonObject& object);

}  // namespace metafuse::fusion::adaboost_mh
