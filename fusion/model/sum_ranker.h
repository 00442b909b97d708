#pragma once

// Rankers whose score is a sum over features, each feature's part depending on its own value alone. For
// lists, the part per rank is kept in a table, which serving adds up and result pages show.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// The parts are added in feature order everywhere, so training, scoring and serving give identical scores.
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

  /// For a list: what it contributes at rank 1, 2, ..., up to its depth, kTabledRanks and its share of
  /// kMostCells. Entry 0, which always exists, is for unranked documents.
  const std::vector<double>& by_rank(std::size_t feature) const { return by_rank_[feature]; }
  double at_rank(std::size_t feature, std::uint32_t rank) const {
    const std::vector<double>& table = by_rank_[feature];
    return rank < table.size() ? table[rank] : part(feature, -static_cast<double>(rank));
  }

 protected:
  static constexpr std::size_t kTabledRanks = 1024;
  // Of all lists together, since a model file may name many lists.
  static constexpr std::size_t kMostCells = std::size_t{1} << 18;

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

}  // namespace metafuse::fusion
