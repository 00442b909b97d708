#pragma once

// Sums per code of two features at once. A pass over the documents is bound by its additions in memory, of
// which two features of few codes need only one per document: that of their pair of codes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace metafuse::fusion::rankboost {

/// Two features whose sums are formed together.
struct FeaturePair {
  std::size_t first = 0;
  std::size_t second = 0;
};

/// Which features to sum in pairs.
struct Pairing {
  std::vector<FeaturePair> pairs;
  std::vector<std::size_t> singles;  ///< the others
};

/// Forms as many pairs as possible of those that may be summed together.
///
/// in:   features - numbers of features; codes - the number of codes of each, with code 0
///       documents - with few of them, clearing and adding up a table of pairs costs more than it saves
/// cost: O(features log features)
Pairing pair_features(std::span<const std::size_t> features, std::span<const std::size_t> codes,
                      std::size_t documents);

/// The sums of the potentials of the documents with each pair of codes.
class JointSums {
 public:
  JointSums(std::size_t first_codes, std::size_t second_codes);

  /// Adds documents. The sums are of whole numbers, so their order does not matter.
  /// in: first, second - the documents' codes, below the numbers given to the constructor
  void add(const std::uint8_t* first, const std::uint8_t* second, const std::int64_t* potentials,
           std::size_t count);

  /// The sums of each feature's codes, of which that of code 0 is left at 0.
  void write(std::int64_t* first_sums, std::int64_t* second_sums) const;

 private:
  std::size_t first_codes_;
  std::size_t second_codes_;
  std::size_t lanes_;               // copies of the table, so that equal codes in a row need not wait
  std::vector<std::int64_t> sums_;  // by lane, second code and first code
};

}  // namespace metafuse::fusion::rankboost
