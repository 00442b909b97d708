#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/base_learners.h"

namespace metafuse::fusion::adaboost_mh {

enum class BaseKind { tree, product };

/// One setting of the base learner; a stump is a product of one term.
struct BaseSetting {
  BaseKind kind = BaseKind::tree;
  std::size_t size = 20;  ///< leaves of a tree, terms of a product

  std::string name() const;  ///< "tree 20", "product 4", "stump"
  friend bool operator==(const BaseSetting&, const BaseSetting&) = default;
};

/// Training documents with their classes.
struct Problem {
  const CodedFeatures* features = nullptr;
  std::vector<int> classes{};  ///< 0 ... class_count - 1, one a document
  std::size_t class_count = 2;
  unsigned threads = 1;                      ///< of one run; any number gives the same bytes
  std::span<const std::uint8_t> left_out{};  ///< empty, or 1 for a document that takes no part; one must
};

/// One round, for the trace.
struct BoostRound {
  double edge = 0.0;  ///< gamma
  double alpha = 0.0;
  double z = 0.0;
  double hamming_loss = 0.0;  ///< share of (document, label) with the wrong sign, uniformly weighted
};

struct BoostRun {
  StrongClassifier classifier;
  std::vector<BoostRound> rounds;
  std::string stop_reason;
};

/// Initial weights: 2^label on the document's own label, 2^label / (K - 1) on each other, normalised; labels
/// count from 1 as in Busa-Fekete et al. 2011, sec. 4 (any other start is the same after normalising).
SignedWeights initial_weights(const Problem& problem);

/// Rounds that were trained before, on the same documents.
struct BoostStart {
  const StrongClassifier* classifier = nullptr;
  const CodedRows* rows = nullptr;  ///< the training documents
};

/// AdaBoost.MH with vote vectors (Schapire, Singer 1999; Busa-Fekete et al. 2011, sec. 4).
///
/// in:     after_round - may be empty; false stops
///         start - its rounds come first, with their alphas, as if they had just been trained; at most
///         `rounds`
/// cost:   rounds x that of the base learner; O(documents x K) beside it
BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<bool(std::size_t)>& after_round = {}, const BoostStart& start = {});

}  // namespace metafuse::fusion::adaboost_mh
