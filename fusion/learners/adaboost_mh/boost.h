#pragma once

// AdaBoost.MH and its base learners, products of stumps and trees. Each grade is a class, and a base
// classifier votes for or against each class.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/histogram.h"

namespace metafuse::fusion::adaboost_mh {

/// A base classifier and its outputs for the training documents.
struct FittedBase {
  BaseClassifier base;
  std::vector<std::int8_t> outputs;  ///< documents x K
  double edge = 0.0;                 ///< the sum of w z h
};

/// Fits a product of at most `terms` stumps (a stump is a product of one). Terms start as the constant +1 and
/// are refitted in turn while the others are held fixed, until a refitted term no longer raises the edge.
/// source: Kegl, Busa-Fekete 2009, sec. 3
/// cost:   one histogram of all documents; then, in `terms` to 2 x `terms` steps, one of the documents whose
///         sign the changed term changes, or of the other documents if these are fewer
FittedBase fit_product(const CodedFeatures& features, const SignedWeights& weights, std::size_t terms,
                       unsigned threads = 1);

/// Histograms of one problem's features that are currently not in use.
using HistogramPool = std::vector<std::unique_ptr<Histogram>>;

/// Fits a tree of at most `leaves` leaves. The tree grows at the leaf where the edge of the best stump
/// exceeds the leaf's own edge most, and each leaf votes for each label by the sign of its weight. Differs
/// from the trees of Kegl, Busa-Fekete 2009: the two sides of a finished cut need not vote oppositely,
/// because for the same cuts the edge can only become greater.
/// in:   spare - histograms to reuse; used ones are returned to it; may be null
/// cost: a histogram of the smaller child of every cut except the last; that of the larger child is
///       a difference
FittedBase fit_tree(const CodedFeatures& features, const SignedWeights& weights, std::size_t leaves,
                    unsigned threads = 1, HistogramPool* spare = nullptr);

enum class BaseKind { tree, product };

/// One setting of the base learner. A stump is a product of one term.
struct BaseSetting {
  BaseKind kind = BaseKind::tree;
  std::size_t size = 20;  ///< leaves of a tree, terms of a product

  std::string name() const;  ///< "tree 20", "product 4", "stump"
  friend bool operator==(const BaseSetting&, const BaseSetting&) = default;
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
/// in:   after_round - called after each round, false stops; may be empty; start - its rounds come first,
///       with their alphas, as if just trained (at most `rounds` of them)
/// cost: rounds x cost of the base learner, plus O(documents x K) per round
BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<bool(std::size_t)>& after_round = {}, const BoostStart& start = {});

}  // namespace metafuse::fusion::adaboost_mh
