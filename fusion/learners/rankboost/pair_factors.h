#pragma once

namespace metafuse::fusion::rankboost {

/// What a document brings into the weight of its pairs: up as the lower one, down as the upper one.
struct PairFactors {
  double up = 0.0;
  double down = 0.0;
};

}  // namespace metafuse::fusion::rankboost
