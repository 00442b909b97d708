#pragma once

// Thresholded features, as RankBoost and its relatives learn them, and the step functions of their sums.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// h(x) = 1 if f(x) > threshold, 0 if not, q_default if x is unranked (Freund et al. 2003, eq. (9)), together
/// with its weight. A threshold of minus infinity fires for every ranked document. For a rank feature the
/// threshold is -(k + 1), so that h = 1 iff rank <= k.
struct WeakRanking {
  std::uint32_t feature = 0;
  double threshold = 0.0;
  double q_default = 0.0;
  double alpha = 0.0;

  friend bool operator==(const WeakRanking&, const WeakRanking&) = default;
};

/// Adds a weak ranking to others of the same feature, or its alpha to that of an equal one.
void add_ranking(const WeakRanking& ranking, std::vector<WeakRanking>& rankings);

/// Reads a finite number; false if `item` is null or something else.
bool finite_number(const Json* item, double& value);

/// Writes a threshold as model files have it: "rank" or "threshold" by the kind of its feature, with null
/// for a threshold of minus infinity.
void put_threshold(JsonObject& object, FeatureKind kind, double threshold);

/// What a threshold asks of a value, in words: "rank <= 3", "> 0.5", or "ranked" for minus infinity.
std::string threshold_text(FeatureKind kind, double threshold);

/// Adds alpha * h to the score of every document.
/// cost:   O(documents)
void add_to_scores(const FeatureMatrix& documents, const WeakRanking& ranking, std::vector<double>& scores);

/// What one feature contributes to a score: a step function of its value.
struct StepTable {
  std::vector<double> thresholds;  ///< ascending, distinct; may begin with minus infinity
  /// One more than there are thresholds: weights[j] is for a value above exactly j of them.
  std::vector<double> weights;
  double unranked = 0.0;

  double at(double value) const;
};

/// Makes the step table of every feature. The weights of equal weak rankings are added in the given order,
/// the sums then by ascending threshold, so that equal rankings give equal tables bit for bit.
std::vector<StepTable> step_tables(std::span<const WeakRanking> rankings, std::span<const Feature> features);

/// The tables in words, for people.
std::string describe_steps(std::span<const StepTable> tables, const std::vector<Feature>& features);

/// The field "weak_rankings" of a model's body: [{"feature","threshold"|"rank","q_default","alpha"}...], in
/// the order of the rounds. "feature" is an index into the model's features, from 0; a threshold or rank of
/// null means minus infinity.
/// in: kinds - of the model's features
JsonArray weak_rankings_json(std::span<const WeakRanking> rankings, std::span<const FeatureKind> kinds);

/// errors: bad_data naming the field: no list of weak rankings, an unknown feature, both or neither of
///         threshold and rank, numbers out of range
Result<std::vector<WeakRanking>> read_weak_rankings(const JsonObject& body,
                                                    const std::vector<Feature>& features);

}  // namespace metafuse::fusion
