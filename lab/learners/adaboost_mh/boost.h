#pragma once

// AdaBoost.MH and its base learners, products of stumps and trees. Each grade is a class, and a base
// classifier votes for or against each class.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lab/learners/adaboost_mh/histogram.h"

namespace metafuse::lab::adaboost_mh {

enum class BaseKind { tree, product };

/// One setting of the base learner. A stump is a product of one term.
struct BaseSetting {
  BaseKind kind = BaseKind::tree;
  std::size_t size = 20;  ///< leaves of a tree, terms of a product

  std::string name() const;  ///< "tree 20", "product 4", "stump"
};

/// The training documents and their classes.
struct Problem {
  const CodedFeatures* features = nullptr;
  std::vector<int> classes{};  ///< one per document, from 0 to class_count - 1
  std::size_t class_count = 2;
  /// For one run; the result is the same bit for bit for any number.
  unsigned threads = 1;
  /// 1 for each document that takes no part, or empty; at least one takes part.
  std::span<const std::uint8_t> left_out{};
  /// Replaces 2^label for each document, or empty.
  std::span<const double> importance{};
};

/// One round, for the trace.
struct BoostRound {
  double edge = 0.0;  ///< gamma
  double alpha = 0.0;
  double z = 0.0;
  double hamming_loss = 0.0;  ///< share of (document, label) with the wrong sign, unweighted
};

struct BoostRun {
  StrongClassifier classifier;
  std::vector<BoostRound> rounds;
  std::string stop_reason;
};

/// Initial weights: 2^label on the document's own label and 2^label / (K - 1) on each other label,
/// normalised. Labels count from 1 as in Busa-Fekete et al. 2011, sec. 4; any other first number gives the
/// same weights. If given, problem.importance of the document replaces 2^label.
SignedWeights initial_weights(const Problem& problem);

/// Rounds trained earlier on the same documents, to continue from.
struct BoostStart {
  const StrongClassifier* classifier = nullptr;
  const CodedRows* rows = nullptr;  ///< the training documents
};

/// AdaBoost.MH with vote vectors (Schapire, Singer 1999; Busa-Fekete et al. 2011, sec. 4).
///
/// in:   after_round - called after each round; may be empty; start - its rounds come first, with their
///       alphas, as if just trained (at most `rounds` of them)
/// cost: rounds x cost of the base learner, plus O(documents x K) per round
BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<void(std::size_t)>& after_round = {}, const BoostStart& start = {});

}  // namespace metafuse::lab::adaboost_mh
