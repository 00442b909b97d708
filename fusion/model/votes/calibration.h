#pragma once

// What turns the votes of a classifier into a score: posteriors, the Bayes score, and fitted calibrations.

#include <optional>
#include <span>
#include <string>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/votes/regression.h"

namespace metafuse::fusion::votes {

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

/// The Bayes score divided by the highest gain.
double scaled_bayes_score(std::span<const double> posterior, std::span<const double> gains);

JsonObject to_json(const Calibration& calibration);
/// errors: bad_data, naming the field
Result<Calibration> read_calibration(const JsonObject& object);

}  // namespace metafuse::fusion::votes
