#pragma once

// Makes features of ranked lists: the instances of a base query with their ranks and scores, and features
// derived from these. Training, fusing and serving all use these functions, so that a model sees the same
// numbers everywhere.

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

/// The document ids of one list, best first: position 0 has rank 1. A document that occurs twice keeps its
/// better rank.
using RankedIds = std::span<const std::string_view>;

/// The instances of one base query: every document that at least one list returned (Freund et al. 2003,
/// sec. 2.1).
struct QueryInstances {
  std::vector<std::string_view> documents;  ///< ascending bytewise; views into the lists
  std::vector<std::uint32_t> ranks;         ///< documents x lists, 0 if the list did not return the document
  std::size_t lists = 0;

  std::span<const std::uint32_t> ranks_of(std::size_t document) const {
    return {ranks.data() + document * lists, lists};
  }
};

/// The rank in a file's cell, at least 1, as instances have it; ranks beyond 2^32 - 1 are that one.
std::uint32_t whole_rank(double rank);

/// Joins the lists of one base query. Training, fusing and serving all make their features with this function
/// and feature_matrix().
///
/// in:     lists - one per rank feature, empty if its engine failed; depths - how many ranks of each list
///         count (0: all)
/// cost:   O(hits + documents log documents + documents x lists)
QueryInstances collect_instances(std::span<const RankedIds> lists, std::span<const int> depths);

/// The matrix of one base query's instances: f_i = -rank, and the derived features computed from the ranks.
/// Requires the rank features to stand first, as many as there are lists.
FeatureMatrix feature_matrix(const std::vector<Feature>& features, const QueryInstances& instances);

constexpr double kRrfConstant = 60.0;

/// What a list adds to the reciprocal rank fusion (RRF) score of the document at the given rank.
/// source: Cormack, Clarke, Buettcher 2009
inline double reciprocal_rank_share(double rank, double k = kRrfConstant) {
  return 1.0 / (k + rank);
}

/// The RRF score of a document from its ranks, one per list; 0 means that the list does not hold it.
double reciprocal_rank_score(std::span<const std::uint32_t> ranks, double k = kRrfConstant);

/// Whether the feature is computed from the rank features: "derived:lists", "derived:rrf",
/// "derived:best-rank", "derived:median-rank", "derived:vsim", and for each list
/// "derived:share:NAME". Higher is better. A share is unranked where its list does not rank the document;
/// "derived:vsim" is unranked until training fills it in (lab/learners/baselines/baselines.h).
bool is_derived(const Feature& feature);

/// The name of the derived feature whose values training fills in.
inline constexpr std::string_view kSimilarityFeature = "derived:vsim";

/// All names that derived_features() accepts.
inline constexpr std::string_view kDerivedNames = "lists,rrf,best-rank,median-rank,share,vsim";

/// Makes the derived features that `names` lists.
/// in:     names - comma-separated, some of kDerivedNames; lists - the rank features; each gets a share
/// errors: usage: a name that is unknown or given twice
Result<std::vector<Feature>> derived_features(std::string_view names, std::span<const Feature> lists);

/// The value of a derived feature that needs only the document's own ranks (not a share or VSIM):
/// the number of lists that hold the document, its RRF score, minus its best rank, or minus its median rank
/// over all lists. For the median, an absent rank counts as 2^31, and an even number of lists gives the lower
/// of the two middle ranks.
double derived_value(const Feature& feature, std::span<const std::uint32_t> ranks);

/// All derived values of one base query's instances, instance by instance; NaN where unranked. A share is
/// minus the fraction of the query's documents that the list ranks above the document; being a fraction, it
/// is comparable between queries with few and with many documents.
///
/// in:   features - the rank features first, as many as there are lists
/// cost: O(documents x features), plus one sort of the documents per share
std::vector<double> derived_values(const std::vector<Feature>& features, const QueryInstances& instances);

/// Those of one instance.
/// cost: O(lists x features + documents x shares)
std::vector<double> derived_values(const std::vector<Feature>& features, const QueryInstances& instances,
                                   std::size_t instance);

/// A copy of the matrix with new values for one feature.
///
/// in:   values - one per document, NaN where unranked
/// cost: O(documents x features), plus one sort of the values
FeatureMatrix with_values(const FeatureMatrix& matrix, std::size_t feature,
                          const std::vector<double>& values);

/// Appends derived features to the rank features of a set. The new columns hold the values that
/// feature_matrix() gives each query.
///
/// in:     set - has rank features only; derived - made by derived_features()
/// cost:   O(documents x features x log documents per query)
void add_derived_columns(TrainingSet& set, const std::vector<Feature>& derived);

}  // namespace metafuse::fusion
