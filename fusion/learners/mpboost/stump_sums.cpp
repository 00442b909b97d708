#include "fusion/learners/mpboost/stump_sums.h"

namespace metafuse::fusion::mpboost {

std::vector<std::vector<double>> sums_above(std::vector<std::vector<double>> by_code) {
  for (std::vector<double>& sums : by_code) {
    double above = 0.0;
    for (std::size_t code = sums.size(); code-- > 0;) {
      const double here = sums[code];
      sums[code] = above;
      above += here;
    }
    sums.pop_back();
  }
  return by_code;
}

std::vector<std::vector<double>> empty_codes(const CodedFeatures& features) {
  std::vector<std::vector<double>> codes(features.feature_count());
  for (std::size_t f = 0; f < codes.size(); ++f) codes[f].assign(features.thresholds(f).size() + 1, 0.0);
  return codes;
}

void add_by_code(const CodedFeatures& features, std::size_t feature, const std::vector<double>& values,
                 std::vector<double>& by_code) {
  for (std::size_t x = 0; x < values.size(); ++x) by_code[features.code(x, feature)] += values[x];
}

}  // namespace metafuse::fusion::mpboost
