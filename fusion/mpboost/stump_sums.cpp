#include "fusion/mpboost/stump_sums.h"

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

std::vector<std::vector<double>> add_by_code(const CodedFeatures& features,
                                             const std::vector<double>& values) {
  std::vector<std::vector<double>> sums = empty_codes(features);
  for (std::size_t f = 0; f < sums.size(); ++f)
    for (std::size_t x = 0; x < values.size(); ++x) sums[f][features.code(x, f)] += values[x];
  return sums;
}

}  // namespace metafuse::fusion::mpboost
