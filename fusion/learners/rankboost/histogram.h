#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"

namespace metafuse::fusion::rankboost {

/// Sums of potentials by code: for each feature the buckets that every threshold's edge is a suffix sum of.
class Histograms {
 public:
  explicit Histograms(const CodedFeatures& features, Communicator* communicator = nullptr);

  /// Recomputes the histogram of some features.
  /// cost: one addition a document and feature; a feature that ranks few documents costs only those
  void fill(std::span<const std::size_t> features, std::span<const std::int64_t> potentials,
            unsigned threads);

  /// The sum of the potentials a code; code 0 (unranked) is left at 0.
  std::span<const std::int64_t> of(std::size_t feature) const {
    return {sums_.data() + starts_[feature], starts_[feature + 1] - starts_[feature]};
  }

 private:
  /// The ranked documents of a feature that ranks few: how many rows further each stands, and its code. Code
  /// 0 only bridges a gap that one byte cannot tell.
  struct Sparse {
    std::vector<std::uint8_t> steps;
    std::vector<std::uint8_t> codes;
  };

  static Sparse sparse_of(std::span<const std::uint8_t> codes);

  bool is_dense(std::size_t feature) const;
  void fill_dense(std::span<const std::size_t> features, std::span<const std::int64_t> potentials);
  void fill_others(std::size_t feature, std::span<const std::int64_t> potentials);

  void add_up_ranks(std::span<const std::size_t> features);

  const CodedFeatures* features_;
  Communicator* communicator_;
  std::vector<std::size_t> starts_;
  std::vector<std::int64_t> sums_;
  std::vector<Sparse> sparse_;
};

}  // namespace metafuse::fusion::rankboost
