#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::baselines {

/// What one feature adds: weight times its value, or times the default where it is unranked.
struct LinearTerm {
  std::uint32_t feature = 0;
  double weight = 0.0;
  double unranked = 0.0;  ///< the value that an unranked document is given

  friend bool operator==(const LinearTerm&, const LinearTerm&) = default;
};

/// A weighted sum of features, which all baselines of Freund et al. 2003, sec. 6.2.3 come down to.
///
/// body: {"offset":x,"terms":[{"feature","weight","default"}...]}; "feature" counts from 0
class LinearRanker final : public Ranker {
 public:
  LinearRanker(double offset, std::vector<LinearTerm> terms, std::size_t feature_count);

  double offset() const { return offset_; }
  const std::vector<LinearTerm>& terms() const { return terms_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  /// The offset is spread evenly over the features, so that the contributions sum to the score.
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  double offset_;
  std::vector<LinearTerm> terms_;
  std::size_t feature_count_;
};

/// A Learner's `read`.
/// errors: bad_data that names the field
Result<std::shared_ptr<const Ranker>> read_linear_ranker(const JsonObject& body,
                                                         const std::vector<Feature>& features);

}  // namespace metafuse::fusion::baselines
