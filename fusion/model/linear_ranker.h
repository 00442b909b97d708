#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// What one feature contributes: weight times its value, or times a default if the document is unranked.
struct LinearTerm {
  std::uint32_t feature = 0;
  double weight = 0.0;
  double unranked = 0.0;  ///< the default value of unranked documents

  friend bool operator==(const LinearTerm&, const LinearTerm&) = default;
};

/// A weighted sum of features.
///
/// Body: {"offset":x,"terms":[{"feature","weight","default"}...]}; "feature" is an index from 0.
class LinearRanker final : public Ranker {
 public:
  LinearRanker(double offset, std::vector<LinearTerm> terms, std::size_t feature_count)
      : offset_(offset), terms_(std::move(terms)), feature_count_(feature_count) {}

  double offset() const { return offset_; }
  const std::vector<LinearTerm>& terms() const { return terms_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  /// Spreads the offset evenly over the features, so that the contributions sum to the score.
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  double offset_;
  std::vector<LinearTerm> terms_;
  std::size_t feature_count_;
};

/// errors: bad_data that names the field
Result<LinearRanker> read_linear_ranker(const JsonObject& body, const std::vector<Feature>& features);

}  // namespace metafuse::fusion
