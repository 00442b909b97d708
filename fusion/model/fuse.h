#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/features.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"
#include "fusion/unsupervised/fuse_runs.h"

namespace metafuse::fusion {

/// The fused ranking of one base query.
struct FusedRanking {
  QueryInstances instances;          ///< every document of any list, with its ranks
  std::vector<double> scores;        ///< one an instance
  std::vector<std::uint32_t> order;  ///< instances, best first
};

/// What one feature adds to a document's score.
struct FeatureShare {
  std::size_t feature = 0;
  std::uint32_t rank = 0;  ///< 0: its list did not return the document
  double weight = 0.0;     ///< the cumulative weight that this rank earned
  std::vector<WeakRanking>
      fired;  ///< the weak rankings behind it, equal ones added up; of a step ranker only
};

/// Why a document stands where it stands; the weights sum to its score.
struct Explanation {
  double score = 0.0;
  std::vector<FeatureShare>
      features;  ///< one per feature of the model, in its order; empty when the ranker is no sum
};

/// The instances in the order of their scores and of the tie rule (fusion/data/fused_order.h).
std::vector<std::uint32_t> order_instances(const QueryInstances& instances, std::span<const double> scores);

/// Fuses the lists of one base query by a model, from ids to the final order.
///
/// in:     lists - one per rank feature of the model, in the model's order, empty where an engine failed;
///         scores - of each list by position, NaN where there is none, or empty: of models that use scores
/// cost:   O(hits + documents x lists + documents log documents); a sum of step tables is read by rank
FusedRanking fuse(const Model& model, std::span<const RankedIds> lists,
                  std::span<const std::vector<double>> scores = {});

/// The same for instances that are joined already: the scores and the order.
FusedRanking fuse(const Model& model, QueryInstances instances);

/// in:     instance - a place in ranking.instances.documents
Explanation explain(const Model& model, const FusedRanking& ranking, std::size_t instance);

/// How many lists a model fuses: its rank features.
std::size_t list_count(const Model& model);

/// A model as a way of scoring the documents of one query by the lists that rank them: what `fuse --model`
/// and tables that compare methods use. The features are made as in training (fusion/data/features.h).
///
/// in:     names - of the lists, in their order
/// errors: as match_features; bad_data for a model whose features are not ranks
Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing);

}  // namespace metafuse::fusion
