#pragma once

#include <optional>
#include <string>

#include "evaluation/measures/judged_ranking.h"
#include "evaluation/measures/measure.h"

namespace metafuse::evaluation {

/// How many documents the set's relstring shows; none when it has none.
std::optional<double> relstring_length(const MeasureSet& set);

/// trec_eval's relstring: the grades of the first `length` documents, a character each.
std::string relstring_of(const JudgedRanking& ranking, double length);

}  // namespace metafuse::evaluation
