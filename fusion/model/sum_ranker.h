#pragma once

// Rankers that are a sum over features, to which each feature adds by its own value alone. What a rank of a
// list adds stands in a table, which is what serving adds up and what pages show.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// A score is the sum of the parts in feature order, in training, scoring and serving alike.
class SumRanker : public Ranker {
 public:
  /// Whether the feature adds anything to any score.
  virtual bool uses(std::size_t feature) const = 0;
  /// What a value of the feature adds; the value of a list is minus the rank.
  virtual double part(std::size_t feature, double value) const = 0;
  /// What the feature adds where the document is unranked.
  virtual double unranked_part(std::size_t feature) const = 0;

  /// cost: O(documents) per feature that is used; a search for each value of a coded column instead of for
  ///       each document
  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;

  /// Of a list, what it adds at rank 1, 2, ... as far as its depth, kTabledRanks and its share of kMostCells
  /// go; place 0, which is always there, is unranked.
  const std::vector<double>& by_rank(std::size_t feature) const { return by_rank_[feature]; }
  double at_rank(std::size_t feature, std::uint32_t rank) const {
    const std::vector<double>& table = by_rank_[feature];
    return rank < table.size() ? table[rank] : part(feature, -static_cast<double>(rank));
  }

 protected:
  static constexpr std::size_t kTabledRanks = 1024;
  static constexpr std::size_t kMostCells = std::size_t{1} << 18;  // of all lists: a model file may name many

  /// To be called when parts can be told.
  void tabulate(const std::vector<Feature>& features);
  /// The same for the lists of another ranker of the same features.
  void tabulate(const SumRanker& other);

 private:
  std::vector<std::vector<double>> by_rank_;  // of a feature that is no list: empty
};

/// A table for people: what each list that counts adds to a score at some ranks, and to a document that it
/// does not hold; empty where no feature is a list.
std::string rank_table(const SumRanker& ranker, const std::vector<Feature>& features);

}  // namespace metafuse::fusion
