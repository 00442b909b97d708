#pragma once

// The table of fusion methods: how a method is described, checked and run, and the functions that score by
// it. Methods keep no state, so any thread may call them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/unsupervised/query_lists.h"

namespace metafuse::fusion {

struct FusionOptions {
  std::optional<double> k;                 ///< the method's parameter; if absent, its default
  std::vector<double> weights;             ///< one per list; empty: all 1
  std::optional<Normalisation> normalise;  ///< if absent, the method's default
  /// What a supervised method learned, by list and position; deeper positions have the last value.
  std::vector<std::vector<double>> value_at = {};

  double weight(std::size_t list) const { return weights.empty() ? 1.0 : weights[list]; }
};

/// One row of the table of fusion methods.
struct FusionMethod {
  std::string name;
  std::string meaning;
  std::string source;
  std::string parameter;  ///< the meaning of --k; empty if the method has no parameter
  double default_k = 0.0;
  bool takes_weights = false;
  bool needs_weights = false;  ///< from --weights, or learned with --train
  bool is_supervised = false;  ///< needs --train
  Normalisation default_normalise = Normalisation::none;
  bool uses_scores = false;         ///< if not, the method uses ranks alone and takes no normalisation
  bool is_sum = false;              ///< a score is a sum over the lists, so that each list has a share in it
  bool compares_documents = false;  ///< each with each, so that its cost grows with their square
  /// Computes one score per document of the query; higher is better. The lists are already normalised.
  void (*score)(const QueryLists&, const FusionOptions&, double k, std::vector<double>& scores) = nullptr;
};

/// All methods, in the order of the documentation.
std::span<const FusionMethod> fusion_methods();
const FusionMethod* find_fusion_method(std::string_view name);

/// Checks that the options that somebody gave fit a method, before it learns any itself.
///
/// in:     learns - whether train_fusion() follows, which sets the weights of a method that needs some
/// errors: usage: weights that are not one per list, not finite or negative; a parameter out of range; a
///         normalisation for a method that ignores scores; --k for a method without a parameter
Result<void> check_fusion_options(const FusionMethod& method, const FusionOptions& options, std::size_t lists,
                                  bool learns = false);

/// The scores of one query's documents, from -1e300 to 1e300: what is beyond counts as the limit, and the sum
/// of infinities of unlike sign as 0. Empty for a query without documents.
/// cost: O(entries) for the rank and score methods; for others see the file that holds them
std::vector<double> fuse_scores(const FusionMethod& method, const QueryLists& query,
                                const FusionOptions& options);

}  // namespace metafuse::fusion

/// The functions in the table of fusion methods. The file that holds each one states its rule and source.
namespace metafuse::fusion::unsupervised {

using Scores = std::vector<double>;
using ScoreMethod = void(const QueryLists&, const FusionOptions&, double k, Scores&);

// rank_methods.cpp
ScoreMethod comb_min, comb_max, comb_median, comb_sum, comb_anz, comb_mnz, comb_gmnz;
ScoreMethod reciprocal_rank_fusion, inverse_square_rank, log_inverse_square_rank, rank_biased_centroid, borda;
ScoreMethod searxng, round_robin, median_rank, sum_of_position_values, segfuse, robust_rank_aggregation;

// pairwise_methods.cpp
ScoreMethod condorcet, copeland, markov_chain_1, markov_chain_2, markov_chain_3, markov_chain_4;

}  // namespace metafuse::fusion::unsupervised
