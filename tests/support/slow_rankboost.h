#pragma once

#include <cstdint>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::test {

/// The options of the reference, named as on the command line.
struct SlowOptions {
  int rounds = 10;
  bool is_weak_learner_2 = false;
  bool is_cumulative = true;
  bool is_numeric = false;
  bool is_value = false;
  bool tries_zero = true;
  bool tries_one = false;
};

struct SlowRound {
  std::size_t feature = 0;
  double threshold = 0.0;  ///< theta of h = 1 iff f > theta; minus infinity holds for every ranked document
  int q_default = 0;
  double alpha = 0.0;
  double r = 0.0;
  double z = 0.0;
  double bound = 0.0;
  double ranking_loss = 0.0;
};

/// RankBoost exactly as in the paper (Freund et al. 2003, fig. 1 and 3), with D kept for every crucial pair.
/// It is slow and shares no code with the implementation under test.
std::vector<SlowRound> slow_rankboost(const fusion::TrainingSet& set, const SlowOptions& options);

}  // namespace metafuse::test
