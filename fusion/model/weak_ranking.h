#pragma once

// Rankers whose score is a sum over features, each feature's part depending on its own value alone, and the
// commonest of them: thresholded features, as RankBoost and its relatives learn them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// A sum over features. For lists, the part per rank is kept in a table, which serving adds up and result
/// pages show. The parts are added in feature order everywhere, so training, scoring and serving give
/// identical scores.
class SumRanker : public Ranker {
 public:
  /// Whether the feature contributes to any score.
  virtual bool uses(std::size_t feature) const = 0;
  /// What the feature contributes for a value; a list's value is minus the rank.
  virtual double part(std::size_t feature, double value) const = 0;
  /// What the feature contributes if the document is unranked.
  virtual double unranked_part(std::size_t feature) const = 0;

  /// cost: O(documents) per used feature; in a coded column, one search per distinct value instead of one
  ///       per document
  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;

  /// For a list: what it contributes at rank 1, 2, ..., up to its depth, at most 1024 and
  /// its share of 2^18 for all lists. Entry 0, which always exists, is for unranked documents.
  const std::vector<double>& by_rank(std::size_t feature) const { return by_rank_[feature]; }
  double at_rank(std::size_t feature, std::uint32_t rank) const {
    const std::vector<double>& table = by_rank_[feature];
    return rank < table.size() ? table[rank] : part(feature, -static_cast<double>(rank));
  }

 protected:
  /// To be called by the derived class as soon as part() and unranked_part() work.
  void tabulate(const std::vector<Feature>& features);
  /// The same, with the tables of another ranker of the same features.
  void tabulate(const SumRanker& other);

 private:
  std::vector<std::vector<double>> by_rank_;  // empty for a feature that is not a list
};

/// A table for people: what each list that counts contributes at some ranks, and to a document that it does
/// not hold. Empty if no feature is a list.
std::string rank_table(const SumRanker& ranker, const std::vector<Feature>& features);

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

/// A sum of thresholded features, as RankBoost and its relatives learn it.
///
/// Body: {"weak_rankings":[{"feature","threshold"|"rank","q_default","alpha"}...]}, in the order of the
/// rounds. "feature" is an index into the model's features, from 0; a threshold or rank of null means
/// minus infinity.
class StepRanker final : public SumRanker {
 public:
  StepRanker(std::vector<WeakRanking> rankings, const std::vector<Feature>& features);

  const std::vector<WeakRanking>& rankings() const { return rankings_; }
  const std::vector<StepTable>& tables() const { return tables_; }

  bool uses(std::size_t feature) const override { return !tables_[feature].thresholds.empty(); }
  double part(std::size_t feature, double value) const override { return tables_[feature].at(value); }
  double unranked_part(std::size_t feature) const override { return tables_[feature].unranked; }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  std::vector<WeakRanking> rankings_;
  std::vector<FeatureKind> kinds_;
  std::vector<StepTable> tables_;
};

/// errors: bad_data naming the field: no list of weak rankings, an unknown feature, both or neither of
///         threshold and rank, numbers out of range
Result<std::vector<WeakRanking>> read_weak_rankings(const JsonObject& body,
                                                    const std::vector<Feature>& features);

/// The `read` function of learners whose body holds weak_rankings.
Result<SharedRanker> read_step_ranker(const JsonObject& body, const std::vector<Feature>& features);

}  // namespace metafuse::fusion
