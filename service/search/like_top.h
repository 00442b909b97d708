#pragma once

#include <span>
#include <vector>

#include "service/search/search_answer.h"

namespace metafuse::service {

/// How like the best results each result is: the cosine of the words of its title and snippet with those of
/// the first ten results. A word counts once per result, weighted by ln(1 + results / results with it).
///
/// out:  one number per result, within [0, 1]; 0 for a result without such words
/// cost: O(bytes), at most 400 bytes of each text; 0.2 ms for 200 results
std::vector<double> likeness_to_top(std::span<const FusedResult> results);

}  // namespace metafuse::service
