#include "evaluation/significance/significance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>

#include "core/contract.h"
#include "core/number.h"
#include "core/random.h"
#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {
namespace {

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), "a paired test needs samples of one size");
  std::vector<double> d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return d;
}

/// Numbers 0 ... count - 1, sorted by `precedes`.
template <class Precedes>
std::vector<std::size_t> sorted_places(std::size_t count, Precedes precedes) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, precedes);
  return order;
}

/// The exact two-sided p value of a signed-rank sum, by counting the subsets of {1..n} with each sum.
double exact_signed_rank(double sum, std::size_t n) {
  const std::size_t largest = n * (n + 1) / 2;
  std::vector<double> ways(largest + 1, 0.0);
  ways[0] = 1.0;
  for (std::size_t rank = 1; rank <= n; ++rank)
    for (std::size_t s = largest; s >= rank; --s) ways[s] += ways[s - rank];
  const auto low = static_cast<std::size_t>(std::min(sum, static_cast<double>(largest) - sum) + 0.5);
  double tail = 0.0;
  for (std::size_t s = 0; s <= low; ++s) tail += ways[s];
  return std::min(1.0, 2.0 * tail / std::exp2(static_cast<double>(n)));
}

/// The share of all sign patterns whose sum is at least as far from 0 as the observed one; a Gray code
/// enumerates them.
double exact_randomisation(const std::vector<double>& d, double seen) {
  double sum = std::accumulate(d.begin(), d.end(), 0.0);
  std::vector<char> is_flipped(d.size(), 0);
  const std::uint64_t patterns = std::uint64_t{1} << d.size();
  std::uint64_t extreme = 0;
  for (std::uint64_t i = 0; i < patterns; ++i) {
    if (i > 0) {
      const auto bit = static_cast<std::size_t>(__builtin_ctzll(i));
      sum += is_flipped[bit] != 0 ? 2.0 * d[bit] : -2.0 * d[bit];
      is_flipped[bit] = static_cast<char>(1 - is_flipped[bit]);
    }
    extreme += std::abs(sum) >= seen - 1e-12 ? 1 : 0;
  }
  return static_cast<double>(extreme) / static_cast<double>(patterns);
}

/// The means of samples drawn with replacement.
std::vector<double> bootstrap_means(std::span<const double> sample, std::uint64_t seed, std::size_t trials) {
  Random random(seed);
  std::vector<double> means(trials);
  for (double& mean : means) {
    double sum = 0.0;
    for (std::size_t i = 0; i < sample.size(); ++i)
      sum += sample[static_cast<std::size_t>(random.below(sample.size()))];
    mean = sum / static_cast<double>(sample.size());
  }
  return means;
}

constexpr std::int64_t kMostFolds = 1000;

/// Differences of measures that are no further apart than this differ by rounding alone.
constexpr double kSameValue = 1e-12;

}  // namespace

MeanRanks mean_ranks(std::span<const double> values, double tolerance) {
  const auto order =
      sorted_places(values.size(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  MeanRanks out{std::vector<double>(values.size())};
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    const double first = values[order[begin]];
    const auto is_tied = [&](double value) { return value == first || value - first <= tolerance; };
    while (end < order.size() && is_tied(values[order[end]])) ++end;
    for (std::size_t i = begin; i < end; ++i)
      out.ranks[order[i]] = 0.5 * static_cast<double>(begin + 1 + end);
    const auto size = static_cast<double>(end - begin);
    out.tie_sum += size * size * size - size;
    begin = end;
  }
  return out;
}

double student_tail(double t, double degrees) {
  return boost::math::ibeta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
}

double normal_tail(double z) {
  return std::erfc(std::abs(z) / std::sqrt(2.0));
}

double error_of_difference(std::span<const double> a, std::span<const double> b, double certainty) {
  require(a.size() == b.size() && a.size() >= 2, "an error needs two pairs");
  const auto n = static_cast<double>(a.size());
  double mean = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) mean += (a[i] - b[i]) / n;
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  const boost::math::students_t_distribution<double> t(n - 1.0);
  return boost::math::quantile(t, certainty) * std::sqrt(squares / (n - 1.0) / n);
}

std::optional<double> paired_t_test(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> d = differences(a, b);
  if (d.size() < 2) return 1.0;
  const auto n = static_cast<double>(d.size());
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / n;
  double squares = 0.0;
  for (const double value : d) squares += (value - mean) * (value - mean);
  if (squares <= n * kSameValue * kSameValue) {
    if (std::abs(mean) <= kSameValue) return 1.0;
    return std::nullopt;
  }
  return student_tail(mean / std::sqrt(squares / (n - 1.0) / n), n - 1.0);
}

double wilcoxon_test(std::span<const double> a, std::span<const double> b) {
  std::vector<double> d = differences(a, b);
  std::erase_if(d, [](double value) { return std::abs(value) <= 1e-12; });
  if (d.empty()) return 1.0;
  std::vector<double> distances;
  for (const double value : d) distances.push_back(std::abs(value));
  const auto [ranks, tie_sum] = mean_ranks(distances, 1e-12);
  double positive = 0.0;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] > 0.0) positive += ranks[i];
  const auto n = static_cast<double>(d.size());
  if (d.size() <= 25 && tie_sum == 0.0) return exact_signed_rank(positive, d.size());
  const double variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_sum / 48.0;
  if (variance <= 0.0) return 1.0;
  const double distance = std::abs(positive - n * (n + 1.0) / 4.0);
  return std::min(1.0, normal_tail(std::max(0.0, distance - 0.5) / std::sqrt(variance)));
}

double randomisation_test(std::span<const double> a, std::span<const double> b, std::uint64_t seed,
                          std::size_t trials) {
  std::vector<double> d = differences(a, b);
  std::erase_if(d, [](double value) { return value == 0.0; });
  if (d.empty()) return 1.0;
  const double seen = std::abs(std::accumulate(d.begin(), d.end(), 0.0));
  if (d.size() <= 16) return exact_randomisation(d, seen);
  Random random(seed);
  std::size_t extreme = 1;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    double sum = 0.0;
    for (std::size_t i = 0; i < d.size();) {
      std::uint64_t bits = random.next();
      for (const std::size_t end = std::min(d.size(), i + 64); i < end; ++i, bits >>= 1)
        sum += (bits & 1U) != 0 ? d[i] : -d[i];
    }
    extreme += std::abs(sum) >= seen - 1e-12 ? 1 : 0;
  }
  return static_cast<double>(extreme) / static_cast<double>(trials + 1);
}

Interval bootstrap_interval(std::span<const double> sample, std::uint64_t seed, std::size_t trials) {
  if (sample.empty()) return {};
  std::vector<double> means = bootstrap_means(sample, seed, trials);
  std::sort(means.begin(), means.end());
  constexpr double kLevel = 0.95;
  const double tail = 0.5 * (1.0 - kLevel) * static_cast<double>(trials);
  const auto low = static_cast<std::size_t>(tail);
  return {means[low], means[trials - 1 - low]};
}

double bootstrap_share_above_zero(std::span<const double> sample, std::uint64_t seed, std::size_t trials) {
  if (sample.empty()) return 0.5;
  double above = 0.0;
  for (const double mean : bootstrap_means(sample, seed, trials))
    above += mean > 0.0 ? 1.0 : mean == 0.0 ? 0.5 : 0.0;
  return above / static_cast<double>(trials);
}

std::vector<double> tukey_hsd(const std::vector<std::vector<double>>& samples, std::uint64_t seed,
                              std::size_t trials) {
  const std::size_t systems = samples.size();
  std::vector<double> sums(systems, 0.0);
  for (std::size_t i = 0; i < systems; ++i)
    sums[i] = std::accumulate(samples[i].begin(), samples[i].end(), 0.0);
  std::vector<std::size_t> extreme(systems * systems, 1);
  Random random(seed);
  const std::size_t queries = systems == 0 ? 0 : samples[0].size();
  std::vector<double> row(systems);
  std::vector<double> permuted(systems);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    std::fill(permuted.begin(), permuted.end(), 0.0);
    for (std::size_t query = 0; query < queries; ++query) {
      for (std::size_t i = 0; i < systems; ++i) row[i] = samples[i][query];
      random.shuffle(row);
      for (std::size_t i = 0; i < systems; ++i) permuted[i] += row[i];
    }
    const auto [least, most] = std::minmax_element(permuted.begin(), permuted.end());
    const double range = *most - *least;
    for (std::size_t i = 0; i < systems; ++i)
      for (std::size_t j = i + 1; j < systems; ++j)
        extreme[i * systems + j] += range >= std::abs(sums[i] - sums[j]) - 1e-12 ? 1 : 0;
  }
  std::vector<double> p;
  for (std::size_t i = 0; i < systems; ++i)
    for (std::size_t j = i + 1; j < systems; ++j)
      p.push_back(static_cast<double>(extreme[i * systems + j]) / static_cast<double>(trials + 1));
  return p;
}

std::vector<double> holm(std::span<const double> p) {
  const auto order = sorted_places(p.size(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(order.size() - i) * p[order[i]]));
    out[order[i]] = largest;
  }
  return out;
}

std::vector<double> bonferroni(std::span<const double> p) {
  std::vector<double> out;
  for (const double value : p) out.push_back(std::min(1.0, value * static_cast<double>(p.size())));
  return out;
}

Result<Folds> random_folds(std::span<const std::string_view> queries, std::size_t count, std::uint64_t seed) {
  if (count < 2) return fail(Code::usage, "cross-validation needs at least 2 folds");
  if (queries.size() < count)
    return fail(Code::usage, "cross-validation in " + std::to_string(count) +
                                 " folds needs at least as many queries; there are " +
                                 std::to_string(queries.size()));
  auto order =
      sorted_places(queries.size(), [&](std::size_t a, std::size_t b) { return queries[a] < queries[b]; });
  Random(seed).shuffle(order);
  Folds folds{count, std::vector<std::size_t>(queries.size())};
  for (std::size_t i = 0; i < order.size(); ++i) folds.fold_of[order[i]] = i % count;
  return folds;
}

Result<Folds> read_folds(const std::string& path, std::span<const std::string_view> queries) {
  std::map<std::string, std::size_t, std::less<>> by_query;
  const auto take = [&](std::span<const std::string_view> fields, std::size_t) -> Result<void> {
    std::int64_t fold = 0;
    if (fields.size() != 2) return fail(Code::bad_data, "a line needs two columns: query and fold");
    if (!to_integer(fields[1], fold) || fold < 1 || fold > kMostFolds)
      return fail(Code::bad_data, "the fold must be a whole number from 1 to 1000");
    if (!by_query.emplace(fields[0], static_cast<std::size_t>(fold - 1)).second)
      return fail(Code::bad_data, "the query " + std::string(fields[0]) + " occurs twice; keep one line");
    return {};
  };
  TRY_VOID(for_each_record(path, take, Comments::none));
  Folds folds;
  for (const std::string_view query : queries) {
    const auto at = by_query.find(query);
    if (at == by_query.end())
      return fail(Code::bad_data,
                  path + ": has no fold for the query " + std::string(query) + "; add a line");
    folds.fold_of.push_back(at->second);
    folds.count = std::max(folds.count, at->second + 1);
  }
  std::vector<std::size_t> sizes(folds.count, 0);
  for (const std::size_t fold : folds.fold_of) ++sizes[fold];
  if (folds.count < 2 || std::count(sizes.begin(), sizes.end(), 0U) > 0)
    return fail(Code::bad_data,
                path + ": the folds must be 1, 2, ... without a gap, and there must be at least two");
  return folds;
}

}  // namespace metafuse::evaluation
