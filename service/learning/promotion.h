#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/result.h"
#include "fusion/model/model_file.h"
#include "fusion/training/registry.h"
#include "service/learning/store_training.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// How a challenger is trained.
struct RetrainOptions {
  StoreTrainingOptions training;
  std::string learner{fusion::kDefaultLearner};
  std::map<std::string, std::string> options;  ///< of the learner
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

struct RetrainOutcome {
  std::string version;             ///< of the challenger
  bool is_champion_again = false;  ///< the model came out as the champion is: there is no new challenger
  StoreTrainingReport report;
  std::string summary;  ///< the learner's
};

/// Trains a challenger from what the store holds, held-out base queries aside.
///
/// errors: those of training_set_from_store, of the learner and of files
Result<RetrainOutcome> retrain(Store& store, ModelVersions& versions, const RetrainOptions& options);

/// When a challenger may become the champion.
struct PromotionRules {
  std::size_t fewest_queries = 30;  ///< held-out judged queries with a relevant document
  double level = 0.05;              ///< of all tests against one champion together
};

/// A measurement of two models on judgments of held-out base queries.
struct PromotionReport {
  std::size_t queries = 0;
  double champion = 0;  ///< mean NDCG@10
  double challenger = 0;
  double p = 1;      ///< two-sided paired randomisation test
  double level = 0;  ///< what p must be below in this test
  bool is_better = false;
  std::string reason;  ///< one sentence
};

/// The level of the n-th test against one champion, n from 1: level / (n (n + 1)). Their sum is the level, so
/// that retraining again and again does not promote by chance in the end.
double level_of_test(double level, std::uint32_t test);

/// Measures two models on what judges said of the base queries that no model was trained on.
///
/// in:     champion - nullptr: results are fused by RRF; test - how many tests there were against
///         this champion, this one too
Result<PromotionReport> measure_models(Store& store, std::string_view domain, const fusion::Model* champion,
                                       const fusion::Model& challenger, const PromotionRules& rules,
                                       std::uint32_t test);

/// Tests the challenger and, when it is better and nobody went a step back, makes it the champion.
///
/// in:     is_automatic - false: only measures; no test is counted
/// errors: usage when there is no challenger
Result<PromotionReport> promote_if_better(Store& store, ModelVersions& versions, std::string_view domain,
                                          const PromotionRules& rules, bool is_automatic);

}  // namespace metafuse::service
