#pragma once

#include <array>
#include <span>
#include <vector>

namespace metafuse::experiments::movies {

/// The measures of Freund et al. 2003, sec. 6.2.4, in expectation over the order of ties.
enum Measure { kDisagreement, kAveragePrecision, kRankOfTop, kCoverage, kMeasures };

using Values = std::array<double, kMeasures>;

constexpr std::array<const char*, kMeasures> kMeasureNames = {"disagreement", "AP", "PROT", "coverage"};

/// Good movies are those of the highest grade.
///
/// in:   scores, grades - one a movie; at least one movie
/// cost: O(movies log movies)
Values measure(const std::vector<double>& scores, const std::vector<double>& grades);

/// The difference that is an improvement: lower disagreement, more of the others.
double gain(Measure measure, double better, double worse);

}  // namespace metafuse::experiments::movies
