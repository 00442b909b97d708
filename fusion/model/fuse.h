#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fusion/data/features.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"

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
      features;  ///< one a feature of the model, in its order; empty when the ranker is no sum
};

/// Orders instances by score descending; equal scores by more lists first, then the better best rank, then
/// document id ascending.
std::vector<std::uint32_t> order_instances(const QueryInstances& instances, std::span<const double> scores);

/// Fuses the lists of one base query by a model, from ids to the final order.
///
/// in:     lists - one a rank feature of the model, in the model's order, empty where an engine failed
/// cost:   O(hits + documents x lists + documents log documents); a sum of step tables is read by rank
FusedRanking fuse(const Model& model, std::span<const RankedIds> lists);

/// The same for instances that are joined already: the scores and the order.
FusedRanking fuse(const Model& model, QueryInstances instances);

/// in:     instance - a place in ranking.instances.documents
Explanation explain(const Model& model, const FusedRanking& ranking, std::size_t instance);

/// How many lists a model fuses: its rank features.
std::size_t list_count(const Model& model);

}  // namespace metafuse::fusion
