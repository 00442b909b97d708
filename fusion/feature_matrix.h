#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace metafuse::fusion {

enum class FeatureKind {
  rank,   ///< the value is minus the rank, so that higher is better (paper 000, sec. 2)
  value,  ///< any real number, higher preferred or not
};

/// One ranking feature: a search template's list, a run, or a column of a LETOR file.
struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::value;
  int depth = 0;  ///< of a rank feature: how far down the list counts, 0 for all of it

  friend bool operator==(const Feature&, const Feature&) = default;
};

/// Documents x ranking features with an explicit "unranked" (the paper's bottom). The one form of features
/// that training, scoring and serving share.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  /// Every cell starts unranked.
  FeatureMatrix(std::vector<Feature> features, std::size_t documents);

  const std::vector<Feature>& features() const { return features_; }
  std::size_t feature_count() const { return features_.size(); }
  std::size_t document_count() const { return documents_; }

  bool is_unranked(std::size_t document, std::size_t feature) const;
  /// Requires a ranked cell.
  double value(std::size_t document, std::size_t feature) const;
  /// Requires a finite value.
  void set(std::size_t document, std::size_t feature, double value);

 private:
  std::vector<Feature> features_;
  std::size_t documents_ = 0;
  std::vector<double> cells_;  // row-major; a quiet NaN is "unranked" and never leaves this class
};

}  // namespace metafuse::fusion
