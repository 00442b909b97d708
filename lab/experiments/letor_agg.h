#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "fusion/data/training_set.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/trials.h"

/// Fusion on LETOR's rank aggregation sets: the choices made on validation parts, each the test part of
/// another fold.
namespace metafuse::lab::experiments::letor_agg {

inline constexpr std::array kSets = {"MQ2008-agg", "MQ2007-agg"};
inline constexpr int kFolds = 5;
inline constexpr const char* kMeasures = "ndcg_burges_10,mean_ndcg_burges,map_all";

/// One of the official folds: three parts to train on, one to choose by, one to test on.
struct Fold {
  std::string set;
  int number = 0;  ///< from 1
  std::vector<std::string> train;
  std::string validate;
  std::string test;
};

/// The five folds of each set, set by set.
std::vector<Fold> official_folds(const std::string& data);

/// How a part is read: how its grades become feedback, and which features are derived from its ranks.
struct Reading {
  std::string query_weights = "equal";
  std::string derive;
};

/// One configuration of our learners.
struct Candidate {
  Method method;
  Reading reading;
};

/// The configurations to choose among.
std::vector<Candidate> candidates(const ExperimentOptions& options);

/// The criterion (the mean of the three measures) on a fold's validation part after each round. One training
/// gives all of them, since shorter models are prefixes of the longest.
///
/// errors: those of reading and of the learner
Result<std::vector<double>> validation_curve(const Fold& fold, const Candidate& candidate,
                                             const evaluation::MeasureSet& measures,
                                             const ExperimentOptions& options);

/// The choice made on validation parts: one candidate for both sets, and for each set its number of rounds.
struct Ours {
  Candidate candidate;
  std::map<std::string, std::size_t> rounds;  ///< by set
  double value = -1.0;                        ///< the mean criterion over all folds
};

/// Chooses among candidates(options) by the criterion on the validation parts, at each set's best number
/// of rounds, averaged over both sets. Adds the table to the report.
///
/// errors: those of validation_curve()
Result<Ours> choose_ours(const std::vector<Fold>& folds, const evaluation::MeasureSet& measures,
                         const ExperimentOptions& options, Report& report);

/// Chooses among the configurations of another learner that was trained elsewhere. Its runs are in folders
/// below options.peer_runs, CONFIGURATION/SET/foldN/{validation,test,refitted}.run, as
/// scripts/letor-agg-xgboost writes them. Adds the table to the report.
///
/// out:    the names with the highest criterion on the validation parts of both sets, one for each way of
///         choosing rounds (the part of the name after the comma); empty without a peer
/// errors: no_input if the folder does not exist or is empty; those of reading runs; bad_data naming the
///         first document without a score
Result<std::vector<std::string>> choose_peers(const std::vector<Fold>& folds,
                                              const evaluation::MeasureSet& measures,
                                              const ExperimentOptions& options, Report& report);

}  // namespace metafuse::lab::experiments::letor_agg
