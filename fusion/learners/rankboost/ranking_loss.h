#pragma once

#include <span>

#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::rankboost {

/// Two scores tie when they differ by no more than rounding.
bool is_tie(double a, double b);

/// The weighted share of crucial pairs that the scores misorder, a tie costing 1/2 (paper 000, eq. (21)).
///
/// in:     scores - a row
/// cost:   O(documents log documents of a query x grades + pairs); pairs are not enumerated
double ranking_loss(const Feedback& feedback, std::span<const double> scores,
                    Communicator* communicator = nullptr);

}  // namespace metafuse::fusion::rankboost
