#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/random.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/monotone_trees/tree.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::monotone_trees {

struct BoostOptions {
  std::size_t rounds = 100;  ///< trees
  std::size_t depth = 3;
  double rate = 0.1;      ///< what of a tree's best step is taken
  double features = 0.5;  ///< share of the features that each tree may ask about
  double queries = 0.8;   ///< share of the base queries that are learned from
};

/// Boosts monotone trees on a sample of the queries: each round draws pairs anew and adds a tree that lowers
/// their loss. The first n trees are what n rounds would have learned.
///
/// cost: O(rounds x depth x documents x features)
std::vector<Tree> boost_trees(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                              const rankboost::Feedback& feedback, const BoostOptions& options,
                              Random random);

}  // namespace metafuse::fusion::monotone_trees
