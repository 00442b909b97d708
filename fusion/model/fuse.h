#pragma once

// Fuses the lists of one base query with a trained model, explains the result, and scores the rows of files.
// The server, the library and the command line all fuse by these functions. Models are immutable, so any
// thread may call them.

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
  QueryInstances instances;          ///< all documents of any list, with their ranks
  std::vector<double> scores;        ///< one per instance
  std::vector<std::uint32_t> order;  ///< indices of instances, best first
};

/// What one feature adds to a document's score.
struct FeatureShare {
  std::size_t feature = 0;
  std::uint32_t rank = 0;  ///< 0: its list did not return the document
  double weight = 0.0;     ///< the cumulative weight earned by this rank
  /// The weak rankings that contribute, equal ones added up; only for a step ranker.
  std::vector<WeakRanking> fired;
};

/// Why a document has its place in the ranking: the weights sum to its score.
struct Explanation {
  double score = 0.0;
  /// One per feature of the model, in its order; empty if the ranker is not a sum over features.
  std::vector<FeatureShare> features;
};

/// Indices of the instances, ordered by score and the tie rule (fusion/data/fused_order.h).
std::vector<std::uint32_t> order_instances(const QueryInstances& instances, std::span<const double> scores);

/// Fuses the lists of one base query with a model, from document ids to the final order.
///
/// in:   lists - one per rank feature of the model, in the model's order, empty if an engine failed
/// cost: O(hits + documents x lists + documents log documents); a sum ranker's tables are read by rank
FusedRanking fuse(const Model& model, std::span<const RankedIds> lists);

/// Scores and orders instances that are already joined.
FusedRanking fuse(const Model& model, QueryInstances instances);

/// in:   instance - index into ranking.instances.documents
/// cost: O(features x weak rankings), and O(documents) per derived share of a list
Explanation explain(const Model& model, const FusedRanking& ranking, std::size_t instance);

/// How many lists a model fuses, that is, its number of rank features.
std::size_t list_count(const Model& model);

/// Wraps a model as a function that scores the documents of one query from their ranks, as `fuse --model` and
/// tables that compare methods need it. Features are made as in training (fusion/data/features.h).
///
/// in:     names - the lists' names, in the order of the lists
/// errors: as match_features; bad_data if the model has features that are not ranks
Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing);

/// Scores every row of a LETOR file: one score per line, in the file's order, with 17 significant digits.
///
/// in:     are_ranks - whether it is an aggregation file, whose values are ranks
/// errors: those of the reader; bad_data if the file names a feature that the model does not have, or holds
///         values for a model of ranks or the other way round
/// cost:   O(cells + rows x features) time; memory for one block of rows
Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks);

}  // namespace metafuse::fusion
