#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/regression.h"
#include "fusion/learners/adaboost_mh/sigmoid.h"

namespace metafuse::fusion::adaboost_mh {

/// From a document's votes to a score in [0, 1]: a sigmoid's Bayes score over the highest gain, a scaled
/// regression, or a constant where the votes told nothing.
///
/// Differs from Busa-Fekete et al. 2011: Bayes scores are divided by the highest gain, so that both kinds
/// enter an ensemble on one scale; within one kind this changes nothing.
struct Calibration {
  std::string name;  ///< "LS", "polynomial 3", ...
  std::optional<Sigmoid> sigmoid;
  std::optional<Regression> regression;
  double constant = 0.0;

  bool is_sigmoid() const { return sigmoid.has_value(); }
  bool is_constant() const { return !sigmoid && !regression; }
  /// `buffer` holds as many numbers as there are classes.
  double score(std::span<const double> votes, std::span<const double> gains, std::span<double> buffer) const;

  friend bool operator==(const Calibration&, const Calibration&) = default;
};

struct CalibrationOptions {
  bool has_sigmoids = true;     ///< CPC
  bool has_regressions = true;  ///< RBC
  RegressionOptions regression;
};

/// Every calibration asked for, fitted. Where the votes are all equal it falls back to the mean gain, a
/// constant.
std::vector<Calibration> fit_calibrations(const CalibrationData& data, const CalibrationOptions& options);

JsonObject to_json(const Calibration& calibration);
/// errors: bad_data, naming the field
Result<Calibration> read_calibration(const JsonObject& object);

}  // namespace metafuse::fusion::adaboost_mh
