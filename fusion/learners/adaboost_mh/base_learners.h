#pragma once

#include <cstddef>
#include <span>
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
/// turn, each with the others held fixed, until one no longer raises the edge. source: Kegl, Busa-Fekete
/// 2009, sec. 3 cost:   about terms + 1 to 2 x terms histograms of all documents
FittedBase fit_product(const CodedFeatures& features, const SignedWeights& weights, std::size_t terms,
                       unsigned threads = 1);

/// A tree of at most `leaves` leaves, grown at the leaf where the best stump's edge exceeds the leaf's own
/// most; each leaf votes for each label by the sign of its weight. Differs from the trees of Kegl,
/// Busa-Fekete 2009 in that the two sides of a finished cut need not vote oppositely: for the same cuts the
/// edge can only be greater. cost:   histograms of the smaller child of every cut; the larger one's is the
/// difference
FittedBase fit_tree(const CodedFeatures& features, const SignedWeights& weights, std::size_t leaves,
                    unsigned threads = 1);

}  // namespace metafuse::fusion::adaboost_mh
