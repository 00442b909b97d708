#include "tests/support/rankboost_plus_reference.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace metafuse::fusion::test {
namespace {

using Matrix = std::vector<std::vector<double>>;

int difference(const std::vector<int>& ranking, const ReferencePair& pair) {
  return ranking[pair.above] - ranking[pair.below];
}

/// omega of eq. (23).
double omega(int difference, double eta) {
  if (difference > 0) return std::exp(-eta);
  if (difference < 0) return std::exp(eta);
  return std::cosh(eta);
}

double pair_f2(const BinaryRankings& rankings, const std::vector<double>& eta, const ReferencePair& pair) {
  double product = pair.weight;
  for (std::size_t s = 0; s < rankings.size(); ++s) product *= omega(difference(rankings[s], pair), eta[s]);
  return product;
}

TrainingSet set_of(const BinaryRankings& rankings, std::size_t documents) {
  TrainingSet set;
  std::vector<Feature> features;
  for (std::size_t s = 0; s < rankings.size(); ++s)
    features.push_back({"h" + std::to_string(s), FeatureKind::value, 0});
  set.matrix = FeatureMatrix(features, documents);
  for (std::size_t s = 0; s < rankings.size(); ++s)
    for (std::size_t x = 0; x < documents; ++x) set.matrix.set(x, s, rankings[s][x]);
  set.queries.push_back({"q", 0, documents, 1.0});
  set.documents = TextList(documents, "");
  set.grades.assign(documents, 0.0);
  set.in_feedback.assign(documents, 1);
  return set;
}

std::vector<double> solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

}  // namespace

TrainingSet binary_set(const BinaryRankings& rankings, const std::vector<double>& grades) {
  TrainingSet set = set_of(rankings, grades.size());
  set.grades = grades;
  return set;
}

TrainingSet paired_set(const BinaryRankings& rankings, std::size_t documents,
                       const std::vector<ReferencePair>& pairs) {
  TrainingSet set = set_of(rankings, documents);
  set.in_feedback.assign(documents, 0);
  for (const ReferencePair& pair : pairs)
    set.pairs.push_back(
        {static_cast<std::uint32_t>(pair.below), static_cast<std::uint32_t>(pair.above), pair.weight});
  return set;
}

std::vector<ReferencePair> reference_pairs(const TrainingSet& set) {
  std::vector<ReferencePair> pairs;
  for (const QueryRange& query : set.queries)
    for (std::size_t below = query.begin; below < query.end; ++below)
      for (std::size_t above = query.begin; above < query.end; ++above)
        if (set.in_feedback[below] != 0 && set.in_feedback[above] != 0 &&
            set.grades[below] < set.grades[above])
          pairs.push_back({below, above, 1.0});
  for (const WeightedPair& pair : set.pairs) pairs.push_back({pair.below, pair.above, pair.weight});
  double total = 0.0;
  for (const ReferencePair& pair : pairs) total += pair.weight;
  for (ReferencePair& pair : pairs) pair.weight /= total;
  return pairs;
}

double reference_f2(const BinaryRankings& rankings, const std::vector<double>& eta,
                    const std::vector<ReferencePair>& pairs) {
  double sum = 0.0;
  for (const ReferencePair& pair : pairs) sum += pair_f2(rankings, eta, pair);
  return sum;
}

double reference_f1(const BinaryRankings& rankings, const std::vector<double>& eta,
                    const std::vector<ReferencePair>& pairs) {
  double sum = 0.0;
  for (const ReferencePair& pair : pairs) {
    double margin = 0.0;
    for (std::size_t s = 0; s < rankings.size(); ++s) margin += eta[s] * difference(rankings[s], pair);
    sum += pair.weight * std::exp(-margin);
  }
  return sum;
}

std::vector<double> reference_minimum(const BinaryRankings& rankings,
                                      const std::vector<ReferencePair>& pairs) {
  const std::size_t n = rankings.size();
  std::vector<double> eta(n, 0.0);
  for (int iteration = 0; iteration < 200; ++iteration) {
    std::vector<double> gradient(n, 0.0);
    Matrix hessian(n, std::vector<double>(n, 0.0));
    for (const ReferencePair& pair : pairs) {
      const double weight = pair_f2(rankings, eta, pair);
      std::vector<double> slope(n);
      for (std::size_t s = 0; s < n; ++s) {
        const int d = difference(rankings[s], pair);
        slope[s] = d == 0 ? std::tanh(eta[s]) : -d;
        gradient[s] += weight * slope[s];
      }
      for (std::size_t s = 0; s < n; ++s)
        for (std::size_t t = 0; t < n; ++t) hessian[s][t] += weight * (s == t ? 1.0 : slope[s] * slope[t]);
    }
    double size = 0.0;
    for (const double g : gradient) size = std::max(size, std::abs(g));
    if (size < 1e-14) return eta;
    for (std::size_t s = 0; s < n; ++s) hessian[s][s] += 1e-13;
    const std::vector<double> step = solve(hessian, gradient);
    double shrink = 1.0;
    const double here = reference_f2(rankings, eta, pairs);
    for (int tries = 0; tries < 40; ++tries, shrink *= 0.5) {
      std::vector<double> next = eta;
      for (std::size_t s = 0; s < n; ++s) next[s] -= shrink * step[s];
      if (reference_f2(rankings, next, pairs) <= here) {
        eta = next;
        break;
      }
    }
    for (const double weight : eta)
      if (!(std::abs(weight) < 12.0)) return {};
  }
  return eta;
}

std::size_t reference_rank(const BinaryRankings& rankings, const std::vector<ReferencePair>& pairs) {
  Matrix a(rankings.size(), std::vector<double>(pairs.size()));
  for (std::size_t s = 0; s < rankings.size(); ++s)
    for (std::size_t p = 0; p < pairs.size(); ++p) a[s][p] = difference(rankings[s], pairs[p]);
  std::size_t rank = 0;
  for (; rank < a.size(); ++rank) {
    std::size_t row = rank;
    std::size_t column = 0;
    double best = 0.0;
    for (std::size_t i = rank; i < a.size(); ++i)
      for (std::size_t j = 0; j < pairs.size(); ++j)
        if (std::abs(a[i][j]) > best) {
          best = std::abs(a[i][j]);
          row = i;
          column = j;
        }
    if (best < 1e-9) break;
    std::swap(a[rank], a[row]);
    for (std::size_t i = rank + 1; i < a.size(); ++i) {
      const double factor = a[i][column] / a[rank][column];
      for (std::size_t j = 0; j < pairs.size(); ++j) a[i][j] -= factor * a[rank][j];
    }
  }
  return rank;
}

std::vector<ReferenceRound> reference_plus(const BinaryRankings& rankings,
                                           const std::vector<ReferencePair>& pairs, std::size_t rounds) {
  std::vector<double> eta(rankings.size(), 0.0);
  std::vector<int> state(rankings.size(), 0);  // 0 candidate, 1 member, -1 dropped
  std::vector<ReferenceRound> result;
  while (result.size() < rounds) {
    std::vector<double> weights;
    double total = 0.0;
    for (const ReferencePair& pair : pairs) total += weights.emplace_back(pair_f2(rankings, eta, pair));
    std::vector<double> slopes(rankings.size(), 0.0);
    std::vector<double> numerators(rankings.size(), 0.0);
    std::vector<double> denominators(rankings.size(), 0.0);
    for (std::size_t s = 0; s < rankings.size(); ++s) {
      double right = 0.0;
      double reversed = 0.0;
      double tied = 0.0;
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        const int d = difference(rankings[s], pairs[p]);
        (d > 0 ? right : d < 0 ? reversed : tied) += weights[p] / total;
      }
      slopes[s] = reversed - right + tied * std::tanh(eta[s]);
      numerators[s] = right + tied * std::exp(-eta[s]) / (2.0 * std::cosh(eta[s]));
      denominators[s] = reversed + tied * std::exp(eta[s]) / (2.0 * std::cosh(eta[s]));
    }
    double best = 0.0;
    for (std::size_t s = 0; s < slopes.size(); ++s)
      if (state[s] >= 0) best = std::max(best, std::abs(slopes[s]));
    if (best <= 1e-12) break;
    std::size_t chosen = 0;
    while (state[chosen] < 0 || std::abs(slopes[chosen]) < best * (1.0 - 1e-9)) ++chosen;
    if (state[chosen] == 0) {
      BinaryRankings members;
      for (std::size_t s = 0; s < rankings.size(); ++s)
        if (state[s] == 1) members.push_back(rankings[s]);
      members.push_back(rankings[chosen]);
      if (reference_rank(members, pairs) < members.size()) {
        state[chosen] = -1;
        continue;
      }
      state[chosen] = 1;
    }
    const double alpha = 0.5 * std::log(numerators[chosen] / denominators[chosen]);
    eta[chosen] += alpha;
    result.push_back({chosen, alpha, slopes[chosen], reference_f2(rankings, eta, pairs)});
  }
  return result;
}

}  // namespace metafuse::fusion::test
