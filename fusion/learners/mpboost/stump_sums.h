#pragma once

#include <cstdint>
#include <vector>

#include "fusion/data/thresholds.h"

namespace metafuse::fusion::mpboost {

/// The two sums of eq. (19) for every candidate stump, under the current weights (which sum to `total`).
struct StumpSums {
  /// Over the pairs that a stump orders rightly less those it reverses: w * dist. Feature by feature, a
  /// number a threshold.
  std::vector<std::vector<double>> numerator;
  /// Over both kinds: w.
  std::vector<std::vector<double>> denominator;
};

/// Turns per-code additions into per-threshold sums: threshold j fires for codes above j.
///
/// in: by_code - a feature each: thresholds + 1 numbers
std::vector<std::vector<double>> sums_above(std::vector<std::vector<double>> by_code);

/// Zeroes, thresholds + 1 a feature.
std::vector<std::vector<double>> empty_codes(const CodedFeatures& features);

/// Adds a value a document to the bucket of its code in one feature.
void add_by_code(const CodedFeatures& features, std::size_t feature, const std::vector<double>& values,
                 std::vector<double>& by_code);

}  // namespace metafuse::fusion::mpboost
