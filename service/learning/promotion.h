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
  bool is_champion_again = false;  ///< the trained model equals the champion, so there is no new challenger
  StoreTrainingReport report;
  std::string summary;  ///< the learner's
};

/// Trains a challenger from the store's data, without the held-out base queries.
///
/// errors: those of training_set_from_store, of the learner and of files
Result<RetrainOutcome> retrain(Store& store, ModelVersions& versions, const RetrainOptions& options);

/// When a challenger may become the champion.
struct PromotionRules {
  std::size_t fewest_queries = 30;  ///< held-out judged queries with a relevant document
  double level = 0.05;              ///< significance level of all tests against one champion together
};

/// The comparison of two models on judgments of held-out base queries.
struct PromotionReport {
  std::size_t queries = 0;
  double champion = 0;  ///< mean NDCG@10
  double challenger = 0;
  double p = 1;      ///< two-sided paired randomisation test
  double level = 0;  ///< p must be below this in this test
  bool is_better = false;
  std::string reason;  ///< one sentence
};

/// The level of the n-th test against one champion, n from 1: level / (n (n + 1)). The sum over all n is
/// `level`, so that repeated retraining does not eventually promote a challenger by chance.
double level_of_test(double level, std::uint32_t test);

/// Compares the challenger with the champion on the judgments of the held-out base queries, on which no model
/// was trained. Makes it the champion if it is better and promotion is not paused by a revert.
///
/// in:     is_automatic - if false, it only measures and counts no test
/// errors: usage if there is no challenger
Result<PromotionReport> promote_if_better(Store& store, ModelVersions& versions, std::string_view domain,
                                          const PromotionRules& rules, bool is_automatic);

}  // namespace metafuse::service
