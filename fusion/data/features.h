#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// One list's documents, best first: position 0 has rank 1. A document that stands twice keeps its
/// better rank.
using RankedIds = std::span<const std::string_view>;

/// The instances of one base query: every document that at least one list returned (Freund et al. 2003,
/// sec. 2.1).
struct QueryInstances {
  std::vector<std::string_view> documents;  ///< ascending bytewise; views into the lists
  std::vector<std::uint32_t> ranks;         ///< documents x lists, 0 where a list did not return the document
  /// Documents x lists, from 0 to 1 within each list, NaN where there is none; empty when nobody asked.
  std::vector<double> scores;
  std::size_t lists = 0;

  std::span<const std::uint32_t> ranks_of(std::size_t document) const {
    return {ranks.data() + document * lists, lists};
  }
};

/// Joins the lists of one base query. This and set_features() make the features of training, fusing and
/// serving alike.
///
/// in:     lists - one per rank feature, empty where an engine failed; depths - how far each counts (0: all)
/// cost:   O(hits + documents log documents + documents x lists)
QueryInstances collect_instances(std::span<const RankedIds> lists, std::span<const int> depths);

/// Gives the instances the scores of their lists: (s - least) / (most - least) over the documents that the
/// list ranks and scores, 1 when they are all the same.
///
/// in:     lists - a score by position for each list, NaN where there is none; may be shorter than the list
/// cost:   O(documents x lists)
void set_scores(QueryInstances& instances, std::span<const std::vector<double>> lists);

/// The matrix of one base query's instances: f_i = -rank, and the derived features computed from the ranks.
/// Requires the rank features to stand first, as many as there are lists.
FeatureMatrix feature_matrix(const std::vector<Feature>& features, const QueryInstances& instances);

constexpr double kRrfConstant = 60.0;

/// What a list adds to the reciprocal rank fusion (RRF) score of the document at a rank.
/// source: Cormack, Clarke, Buettcher 2009
inline double reciprocal_rank_share(double rank, double k = kRrfConstant) {
  return 1.0 / (k + rank);
}

/// The RRF score of a document by its ranks, one per list, 0 where the list does not hold it.
double reciprocal_rank_score(std::span<const std::uint32_t> ranks);

/// A feature that is computed from the lists of the others: "derived:lists", "derived:rrf",
/// "derived:best-rank", "derived:median-rank", "derived:vsim", and of each list "derived:share:NAME" and
/// "derived:score:NAME". Higher is better; a share and a score are unranked where their list is or gives no
/// score, and "derived:vsim" is until training fills it in (fusion/learners/baselines/similarity_feature.h).
bool is_derived(const Feature& feature);

/// The name of the feature that training fills in.
inline constexpr std::string_view kSimilarityFeature = "derived:vsim";

/// Every name that derived_features() knows.
inline constexpr std::string_view kDerivedNames = "lists,rrf,best-rank,median-rank,share,score,vsim";

/// Whether a feature is a list's score, so that fusing needs the scores of the lists.
bool uses_scores(std::span<const Feature> features);

/// in:     names - kDerivedNames or some of them; lists - the rank features,
///         of which each has a share and a score
/// errors: usage for another name or one twice
Result<std::vector<Feature>> derived_features(std::string_view names, std::span<const Feature> lists);

/// The value of one derived feature but a share, a score or VSIM: the number of lists that hold the document,
/// its RRF score, minus its best rank, minus its median rank over all lists (an absent one counts as
/// infinitely deep; the lower middle one of an even number, kept finite at 2^31).
double derived_value(const Feature& feature, std::span<const std::uint32_t> ranks);

/// Every derived value of one base query's instances, instance by instance: NaN where unranked. A share is
/// minus the share of the query's documents that the list ranks above the document, so that it says the same
/// for few documents and for many.
///
/// in:   features - the rank features first, as many as there are lists
/// cost: O(documents x features), and a sort of the documents for each share
std::vector<double> derived_values(const std::vector<Feature>& features, const QueryInstances& instances);

/// The matrix with other values of one feature.
///
/// in:   values - one per document, NaN where unranked
/// cost: O(documents x features), and a sort of the values
FeatureMatrix with_values(const FeatureMatrix& matrix, std::size_t feature,
                          const std::vector<double>& values);

/// Adds derived features behind the rank features of a set: what feature_matrix() makes of each query,
/// as columns.
///
/// in:     set - of rank features only; derived - features of derived_features(); scores - of each row and
///         list as QueryInstances has them, or empty
/// cost:   O(documents x features log documents of a query)
void add_derived_columns(TrainingSet& set, const std::vector<Feature>& derived,
                         std::span<const double> scores = {});

}  // namespace metafuse::fusion
