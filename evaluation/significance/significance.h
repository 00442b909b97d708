#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/result.h"

namespace metafuse::evaluation {

/// Two-sided p values for the difference of two paired samples. They are 1 when every difference is 0 or
/// there are fewer than two pairs. All tests require samples of equal size.

/// Paired t test.
/// out:    nullopt when all differences are the same and not 0: t would be infinite, however few the pairs
/// source: Student 1908; the tail is the regularised incomplete beta function
std::optional<double> paired_t_test(std::span<const double> a, std::span<const double> b);

/// Wilcoxon's signed-rank test: zero differences are dropped, ties share their mean rank. Exact up to 25
/// pairs without ties; otherwise the normal approximation with tie and continuity corrections.
/// source: Wilcoxon 1945
double wilcoxon_test(std::span<const double> a, std::span<const double> b);

/// Paired randomisation test (Fisher's permutation of signs): exact up to 16 pairs; otherwise `trials` seeded
/// draws, with the observed difference counted as one of them.
/// source: Fisher 1935; Smucker, Allan, Carterette 2007
double randomisation_test(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                          std::size_t trials = 100000);

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// Percentile bootstrap interval of a sample's mean, at the level .95.
/// source: Efron 1979
Interval bootstrap_interval(std::span<const double> sample, std::uint64_t seed, std::size_t trials = 10000);

/// The share of bootstrap resamples whose mean is above 0, with means of 0 counted half: an estimate of the
/// probability that the mean is above 0. One half for an empty sample.
double bootstrap_share_above_zero(std::span<const double> sample, std::uint64_t seed,
                                  std::size_t trials = 10000);

/// Randomised Tukey HSD: the p value of every pair i < j of samples, row by row. The reference distribution
/// is that of the largest minus the smallest mean when each query's values are permuted among the systems.
/// source: Carterette 2012, sec. 3 (randomisation form of Tukey 1949)
std::vector<double> tukey_hsd(const std::vector<std::vector<double>>& samples, std::uint64_t seed,
                              std::size_t trials = 10000);

/// Holm's step-down correction, and Bonferroni's.
/// out:    in the order of the input, at most 1
std::vector<double> holm(std::span<const double> p);
std::vector<double> bonferroni(std::span<const double> p);

/// The certainty of one standard error, for error_of_difference().
inline constexpr double kOneStandardError = 0.841344746068543;

/// How far the mean of the differences a - b may be off, by Student's t: a difference above this is above 0
/// with this certainty.
///
/// in: at least two pairs
double error_of_difference(std::span<const double> a, std::span<const double> b, double certainty);

/// Two-sided tail of Student's t distribution, and of the standard normal.
double student_tail(double t, double degrees);
double normal_tail(double z);

/// The fold (0 .. count - 1) of every query.
struct Folds {
  std::size_t count = 0;
  std::vector<std::size_t> fold_of;  ///< one per query, in the order of the input
};

/// Splits queries at random into `count` folds whose sizes differ by at most one. The result depends only on
/// the set of ids and the seed, not on the order of the ids.
///
/// errors: usage when there are fewer than two folds or fewer queries than folds
Result<Folds> random_folds(std::span<const std::string_view> queries, std::size_t count, std::uint64_t seed);

/// Reads lines `query fold`, with folds numbered from 1.
///
/// errors: bad_data with file and line: wrong columns, a fold that is not a whole number from 1 to 1000, a
///         query twice, a query of the input that the file lacks, fewer than two folds
Result<Folds> read_folds(const std::string& path, std::span<const std::string_view> queries);

/// Ranks of values in ascending order; values within `tolerance` of the least of them tie and share their
/// mean rank.
struct MeanRanks {
  std::vector<double> ranks;
  double tie_sum = 0.0;  ///< the tie correction: sum of t^3 - t over groups of t ties
};

MeanRanks mean_ranks(std::span<const double> values, double tolerance);

}  // namespace metafuse::evaluation
