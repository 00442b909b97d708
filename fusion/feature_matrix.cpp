#include "fusion/feature_matrix.h"

#include <cmath>
#include <limits>

#include "core/contract.h"

namespace metafuse::fusion {

FeatureMatrix::FeatureMatrix(std::vector<Feature> features, std::size_t documents)
    : features_(std::move(features)),
      documents_(documents),
      cells_(documents * features_.size(), std::numeric_limits<double>::quiet_NaN()) {}

bool FeatureMatrix::is_unranked(std::size_t document, std::size_t feature) const {
  return std::isnan(cells_[document * features_.size() + feature]);
}

double FeatureMatrix::value(std::size_t document, std::size_t feature) const {
  const double cell = cells_[document * features_.size() + feature];
  require(!std::isnan(cell), "value() of an unranked cell");
  return cell;
}

void FeatureMatrix::set(std::size_t document, std::size_t feature, double value) {
  require(std::isfinite(value), "a feature value must be finite");
  cells_[document * features_.size() + feature] = value;
}

}  // namespace metafuse::fusion
