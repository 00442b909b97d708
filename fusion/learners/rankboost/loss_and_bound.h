#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/json.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::rankboost {

/// Two scores tie when they differ by no more than rounding.
bool is_tie(double a, double b);

/// The weighted share of crucial pairs that the scores misorder, a tie costing 1/2.
/// source: Freund et al. 2003, eq. (21)
///
/// in:     scores - a row
/// cost:   O(documents log documents of a query x grades + pairs); pairs are not enumerated
double ranking_loss(const Feedback& feedback, std::span<const double> scores,
                    Communicator* communicator = nullptr);

/// The bound of theorem 3 (Freund et al. 2003, sec. 5.3) on |training error - true error|, which holds with
/// probability 1 - delta: for a sum of `rounds` weak rankings from a class of VC dimension d >= 2, m
/// documents below and n above.
double generalisation_bound(double d, std::uint64_t rounds, std::uint64_t m, std::uint64_t n, double delta);

/// What `model show` says of theorem 3, from a model's "training": the bound where the feedback was a single
/// bipartite function, "vacuous" when it is 1 or more, else why it does not apply. Empty for other learners.
/// Thresholds over N features with q_default free shatter no more than log2(2 N (m + n + 1)) documents, which
/// is the d used.
std::string generalisation_text(const JsonObject& training, std::uint64_t features);

}  // namespace metafuse::fusion::rankboost
