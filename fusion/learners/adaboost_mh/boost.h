#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/histogram.h"

namespace metafuse::fusion::adaboost_mh {

/// A base classifier and what it says of the training documents.
struct FittedBase {
  BaseClassifier base;
  std::vector<std::int8_t> outputs;  ///< documents x K
  double edge = 0.0;                 ///< sum of w z h
};

/// A product of at most `terms` stumps (one: a stump). Terms start as the constant +1 and are refitted in
/// turn, each with the others held fixed, until one no longer raises the edge.
/// source: Kegl, Busa-Fekete 2009, sec. 3
/// cost:   one histogram of all documents, then terms to 2 x terms of those whose sign a changed term
///         changes, or of the others where these are fewer
FittedBase fit_product(const CodedFeatures& features, const SignedWeights& weights, std::size_t terms,
                       unsigned threads = 1);

/// Histograms of one problem's features that nobody uses at the moment.
using HistogramPool = std::vector<std::unique_ptr<Histogram>>;

/// A tree of at most `leaves` leaves, grown at the leaf where the best stump's edge exceeds the leaf's own
/// most; each leaf votes for each label by the sign of its weight. Differs from the trees of Kegl,
/// Busa-Fekete 2009 in that the two sides of a finished cut need not vote oppositely: for the same cuts the
/// edge can only be greater.
/// in:     spare - histograms to take and to give back to, or null
/// cost:   histograms of the smaller child of every cut but the last; the larger one's is the difference
FittedBase fit_tree(const CodedFeatures& features, const SignedWeights& weights, std::size_t leaves,
                    unsigned threads = 1, HistogramPool* spare = nullptr);

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
  std::vector<int> classes{};  ///< 0 ... class_count - 1, one per document
  std::size_t class_count = 2;
  unsigned threads = 1;                      ///< of one run; any number gives the same bytes
  std::span<const std::uint8_t> left_out{};  ///< empty, or 1 for a document that takes no part; one must
  std::span<const double> importance{};      ///< empty, or what takes the place of 2^label per document
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
/// count from 1 as in Busa-Fekete et al. 2011, sec. 4 (any other start is the same after normalising). With
/// problem.importance, that of the document in the place of 2^label.
SignedWeights initial_weights(const Problem& problem);

/// Rounds that were trained before, on the same documents.
struct BoostStart {
  const StrongClassifier* classifier = nullptr;
  const CodedRows* rows = nullptr;  ///< the training documents
};

/// AdaBoost.MH with vote vectors (Schapire, Singer 1999; Busa-Fekete et al. 2011, sec. 4).
///
/// in:     after_round - may be empty; false stops start - its rounds come first, with their alphas, as if
///         they had just been trained; at most `rounds`
/// cost:   rounds x that of the base learner; O(documents x K) beside it
BoostRun boost(const Problem& problem, const BaseSetting& setting, std::size_t rounds,
               const std::function<bool(std::size_t)>& after_round = {}, const BoostStart& start = {});

}  // namespace metafuse::fusion::adaboost_mh
