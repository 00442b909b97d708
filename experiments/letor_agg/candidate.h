#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/letor_agg/fold.h"
#include "fusion/model_file.h"

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

/// A fold's model, with the number of rounds that the validation part likes best.
struct Trained {
  fusion::Model model;
  std::int64_t rounds = 0;
  Values validation;  ///< of its validation part
};

/// Trains once: shorter models are prefixes of the longest.
///
/// errors: those of reading and of the learner
Result<Trained> train(const Fold& fold, const Candidate& candidate, const evaluation::MeasureSet& measures,
                      const ExperimentOptions& options);

}  // namespace metafuse::experiments::letor_agg
