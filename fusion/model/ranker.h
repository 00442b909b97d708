#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// A trained ranking function. Immutable; may be used from many threads at once.
class Ranker {
 public:
  virtual ~Ranker() = default;

  /// One finite score a document, higher is better. `documents` has the features the model was trained on, in
  /// the model's order.
  virtual std::vector<double> score(const FeatureMatrix& documents) const = 0;

  /// How much each feature contributes to one document's score (they sum to it); empty when the ranker is not
  /// a sum over features.
  virtual std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const = 0;

  /// The "body" of a model file.
  virtual JsonObject body() const = 0;

  /// What `metafuse model show` prints under the header: text for people.
  virtual std::string describe(const std::vector<Feature>& features) const = 0;
};

}  // namespace metafuse::fusion
