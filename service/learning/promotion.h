#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/features.h"
#include "fusion/model/model_file.h"
#include "fusion/model/prior.h"
#include "fusion/training/list_ordering.h"
#include "fusion/training/registry.h"
#include "service/learning/model_comparison.h"
#include "service/learning/store_training.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// When a challenger may become the champion.
struct PromotionRules {
  /// Held-out judged queries with a relevant document that a test needs. With fewer, models are trained on
  /// all judged queries and compared by cross-validation.
  std::size_t fewest_queries = 30;
  double level = 0.05;  ///< significance level of all tests against one champion together
  /// What serves the domain while it has no champion: RRF, or what other domains learned.
  ServedOrder without_champion = {};
};

/// The origins of trained versions: on all judged queries, while they are few, or without the held-out ones.
inline constexpr std::string_view kTrainedOnAll = "retrain on all judged queries";
inline constexpr std::string_view kTrained = "retrain";

/// How a challenger is trained.
struct RetrainOptions {
  StoreTrainingOptions training;
  std::string learner{fusion::kDefaultLearner};
  std::map<std::string, std::string> options;  ///< of the learner
  /// What other domains have learned, from which a learner that can starts. Null: nothing.
  std::shared_ptr<const fusion::Prior> prior;
  /// Other domains that ask the same lists: what people judged there counts, too, as far as the domain's own
  /// judgments say that it helps.
  std::vector<std::string> pooled;
  /// Also learn which lists to ask for first; nothing if the domain does not select lists.
  std::optional<fusion::ListChoiceOptions> choice;
  PromotionRules rules;
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

struct RetrainOutcome {
  std::string too_little;          ///< why the feedback does not suffice; then nothing was trained
  std::string version;             ///< of the challenger
  bool is_champion_again = false;  ///< the trained model equals the champion, so there is no new challenger
  StoreTrainingReport report;
  std::string summary;             ///< the learner's
  std::optional<JudgedGain> gain;  ///< while judged queries are few
};

/// Trains a challenger from the store's data: without the held-out base queries if enough of them are judged,
/// else on all. In the second case cross-validation tells what the model brings, which the versions keep.
///
/// errors: those of training_set_from_store and of files; usage: no such learner
Result<RetrainOutcome> retrain(Store& store, ModelVersions& versions, const RetrainOptions& options);

/// The comparison of two models on judgments.
struct PromotionReport {
  std::string measure = "ndcg_cut_10";  ///< of held-out queries; "recip_rank" by cross-validation
  std::size_t queries = 0;
  double champion = 0;  ///< mean of the measure
  double challenger = 0;
  double p = 1;      ///< two-sided paired randomisation test; 1 by cross-validation
  double level = 0;  ///< p must be below this in this test
  bool is_better = false;
  std::string reason;  ///< one sentence with the rule, its numbers and the decision
};

/// The level of the n-th test against one champion, n from 1: level / (n (n + 1)). The sum over all n is
/// `level`, so that repeated retraining does not eventually promote a challenger by chance.
double level_of_test(double level, std::uint32_t test);

/// The sentence for a domain whose champion cannot be compared.
std::string no_challenger(std::string_view domain);

/// Compares the challenger with the champion, and makes it the champion if it may be and promotion is not
/// paused by a revert. With enough judgments of held-out base queries, it must be better by a test on them,
/// unless it was trained on them. Else it must not be below the order that it replaces by its
/// cross-validation: judged queries show their judgments anyhow, so that a model which orders others worse
/// brings nothing.
///
/// in:     is_automatic - if false, it only measures and counts no test
/// errors: usage if there is no challenger
Result<PromotionReport> promote_if_better(Store& store, ModelVersions& versions, std::string_view domain,
                                          const PromotionRules& rules, bool is_automatic);

}  // namespace metafuse::service
