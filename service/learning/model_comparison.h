#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/features.h"
#include "fusion/data/training_set.h"
#include "fusion/model/model_file.h"
#include "fusion/training/registry.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

// How well models order the judged queries of a store.

namespace metafuse::service {

/// The order that a domain serves.
struct ServedOrder {
  const fusion::Model* model = nullptr;  ///< nullptr for RRF
  double rrf_k = fusion::kRrfConstant;
};

/// The documents of a stored search in an order.
std::vector<std::string_view> stored_ranking(const StoredSearch& search, const ServedOrder& by);

/// Leaves out of an order what the search set aside, unless it is judged: another order may have shown it.
std::vector<std::string_view> without_set_aside(std::vector<std::string_view> order,
                                                const StoredSearch& search,
                                                const std::map<std::string, int>& grades);

/// NDCG@10 of an order, with gains 2^grade - 1 over all judged documents; nothing if none is relevant.
std::optional<double> judged_ndcg(const std::vector<std::string_view>& order,
                                  const std::map<std::string, int>& grades);

/// NDCG@10 of two orders of the same queries.
struct OrderValues {
  std::vector<double> before;
  std::vector<double> after;
};

/// Measures two orders on the held-out judged queries that held_out_queries() counts.
Result<OrderValues> measure_on_held_out(Store& store, std::string_view domain, const ServedOrder& before,
                                        const fusion::Model& after);

/// On how many held-out judged queries a model of these features can be measured: they have a relevant
/// document and a search with some list of the features.
///
/// cost: reads those searches
Result<std::size_t> held_out_queries(Store& store, std::string_view domain,
                                     const std::vector<fusion::Feature>& features);

/// What the last training brought, and what was decided then, for people.
struct LearningStory {
  std::string gain;                    ///< gain_text(); empty if nothing was cross-validated
  std::vector<std::string> changes{};  ///< "node streams: place 3 before, 1 now", improvements first
  std::string decision{};              ///< one sentence; empty if none was taken yet
};
Result<LearningStory> learning_story(Store& store, std::string_view domain, const ModelState& state);

/// What training brings to the judged queries of a training set, by cross-validation.
struct GainRequest {
  std::string domain;
  const fusion::TrainingSet* set = nullptr;  ///< of training_set_from_store()
  ServedOrder before{};                      ///< the order that would be replaced
  const fusion::Learner* learner = nullptr;
  const fusion::Prior* prior = nullptr;        ///< what the learner starts from
  std::map<std::string, std::string> options;  ///< the learner's
  std::uint64_t seed = 1;
  unsigned threads = 1;
};

/// Trains on all base queries but those of one fold, clicks included, and orders each judged query of that
/// fold. Queries whose best-graded document is in no list are left out, because no order can change them.
///
/// out:    without `version`; before and after are 0 with fewer than two queries
/// errors: those of the store and of the learner
/// cost:   up to ten trainings
Result<JudgedGain> cross_validated_gain(Store& store, const GainRequest& request);

}  // namespace metafuse::service
