#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/letor_agg/fold.h"
#include "fusion/model/model_file.h"

namespace metafuse::experiments::letor_agg {

/// One way of ours to train.
struct Candidate {
  std::string name;
  std::string learner;
  Reading reading;
  std::map<std::string, std::string> options;
};

/// What is considered, before any test part is read.
std::vector<Candidate> candidates(ExperimentOptions::Size size);

/// The criterion on a fold's validation part after each round. One training tells all of them, since shorter
/// models are prefixes of the longest.
///
/// errors: those of reading and of the learner
Result<std::vector<double>> validation_curve(const Fold& fold, const Candidate& candidate,
                                             const evaluation::MeasureSet& measures,
                                             const ExperimentOptions& options);

/// The model of some parts with a given number of rounds.
Result<fusion::Model> train(const std::vector<std::string>& parts, const Candidate& candidate,
                            std::size_t rounds, const ExperimentOptions& options);

}  // namespace metafuse::experiments::letor_agg
