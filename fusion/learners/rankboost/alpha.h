#pragma once

#include <cstdint>
#include <optional>

#include "fusion/learners/rankboost/distribution.h"

namespace metafuse::fusion::rankboost {

/// alpha by the edge, eq. (6). in: is_certain - every crucial pair lies on one side, so that alpha would be
/// infinite: smoothed with e = 1 / (2m); m - crucial pairs
double alpha_of_edge(double r, bool is_certain, std::uint64_t m);

/// alpha by the weights of rightly and wrongly ordered pairs, eq. (2); smoothed when one of them is 0.
double alpha_of_sides(double right, double wrong, std::uint64_t m);

/// The alpha that minimises Z, by search (sec. 3.2, first method).
/// out: nothing when no pair lies on one of the sides: Z has no minimum then
std::optional<double> alpha_by_search(const Distribution& distribution, const CodedRanking& ranking);

}  // namespace metafuse::fusion::rankboost
