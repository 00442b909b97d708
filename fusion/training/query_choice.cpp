#include "fusion/training/query_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "core/keyed_hash.h"
#include "core/parallel.h"
#include "core/random.h"
#include "evaluation/measures/measure.h"
#include "fusion/learners/common/bagging.h"
#include "fusion/training/registry.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kTop = 10;

/// The scores that one committee member gives all documents of the pool.
using MemberScores = std::vector<double>;

/// A list as a committee member: scores by rank; documents that it does not hold come last.
MemberScores list_scores(const FeatureMatrix& matrix, std::size_t feature) {
  MemberScores scores(matrix.document_count());
  for (std::size_t row = 0; row < scores.size(); ++row)
    scores[row] = matrix.is_unranked(row, feature) ? -1e9 : matrix.value(row, feature);
  return scores;
}

std::vector<MemberScores> list_committee(const TrainingSet& pool) {
  std::vector<MemberScores> members;
  for (std::size_t feature = 0; feature < pool.matrix.feature_count(); ++feature)
    members.push_back(list_scores(pool.matrix, feature));
  return members;
}

std::vector<MemberScores> bagged_committee(const TrainingSet& judged, const TrainingSet& pool,
                                           const QueryChoiceOptions& options) {
  const Learner& learner = *find_learner("rankboost");
  const Random random(options.seed);
  std::vector<Result<MemberScores>> trained(options.members, Result<MemberScores>(MemberScores()));
  parallel_for(options.members, options.threads, [&](std::size_t member) {
    const TrainingSet bag =
        select_queries(judged, bootstrap_sample(judged.queries.size(), random.split(member)));
    TrainingRequest request;
    request.train = &bag;
    request.options = {{"rounds", std::to_string(options.rounds)}};
    request.trace.is_wanted = false;
    auto result = learner.train(request);
    if (result)
      trained[member] = result->model.ranker->score(pool.matrix);
    else
      trained[member] = result.error();
  });
  std::vector<MemberScores> members;
  for (auto& scores : trained)
    if (scores) members.push_back(std::move(*scores));
  // Samples from which nothing can be learned have no vote. A single member could not disagree with itself.
  return members.size() >= 2 ? members : list_committee(pool);
}

/// The discount 1/log2(1 + rank) that one member gives each document of a query; 0 below rank ten. Documents
/// with equal scores share the mean discount of their ranks.
std::vector<double> discounts(const MemberScores& scores, const QueryRange& query) {
  const std::size_t size = query.end - query.begin;
  const auto order = evaluation::order_by_score(std::span(scores).subspan(query.begin, size));
  std::vector<double> out(size, 0.0);
  for (std::size_t from = 0; from < std::min(size, kTop);) {
    std::size_t to = from;
    double sum = 0.0;
    for (; to < size && scores[query.begin + order[to]] == scores[query.begin + order[from]]; ++to)
      sum += to < kTop ? 1.0 / std::log2(static_cast<double>(to) + 2.0) : 0.0;
    for (std::size_t i = from; i < to; ++i) out[order[i]] = sum / static_cast<double>(to - from);
    from = to;
  }
  return out;
}

/// How far the committee disagrees on one query, and on which documents.
QueryChoice judged_by(const std::vector<MemberScores>& members, const TrainingSet& pool, std::size_t number,
                      std::size_t documents) {
  const QueryRange& query = pool.queries[number];
  const std::size_t size = query.end - query.begin;
  std::vector<std::vector<double>> by_member;
  std::vector<double> mean(size, 0.0);
  for (const MemberScores& scores : members) {
    by_member.push_back(discounts(scores, query));
    for (std::size_t i = 0; i < size; ++i)
      mean[i] += by_member.back()[i] / static_cast<double>(members.size());
  }
  std::vector<double> spread(size, 0.0);
  for (const auto& own : by_member)
    for (std::size_t i = 0; i < size; ++i)
      spread[i] += std::fabs(own[i] - mean[i]) / static_cast<double>(members.size());
  double ideal = 0.0;
  for (std::size_t i = 0; i < std::min(size, kTop); ++i)
    ideal += 1.0 / std::log2(static_cast<double>(i) + 2.0);
  QueryChoice choice;
  choice.query = number;
  if (ideal > 0) choice.disagreement = std::accumulate(spread.begin(), spread.end(), 0.0) / ideal;
  const auto order = evaluation::order_by_score(spread);
  for (std::size_t i = 0; i < std::min(size, documents); ++i) choice.rows.push_back(query.begin + order[i]);
  return choice;
}

/// The share of a query's documents that no chosen query contains.
double new_share(const TrainingSet& pool, const QueryRange& query, const TextViewSet& seen) {
  std::size_t fresh = 0;
  for (std::size_t row = query.begin; row < query.end; ++row)
    fresh += pool.documents[row].empty() || !seen.contains(pool.documents[row]) ? 1 : 0;
  return static_cast<double>(fresh) / static_cast<double>(std::max<std::size_t>(1, query.end - query.begin));
}

}  // namespace

Result<std::vector<QueryChoice>> choose_queries(const TrainingSet& judged, const TrainingSet& pool,
                                                const QueryChoiceOptions& options) {
  const std::vector<MemberScores> members =
      judged.queries.size() >= 2 ? bagged_committee(judged, pool, options) : list_committee(pool);
  std::vector<QueryChoice> waiting;
  for (std::size_t query = 0; query < pool.queries.size(); ++query)
    waiting.push_back(judged_by(members, pool, query, options.documents));
  TextViewSet seen;
  std::vector<QueryChoice> chosen;
  while (chosen.size() < options.count && !waiting.empty()) {
    std::size_t best = 0;
    double best_value = -1.0;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const double value = waiting[i].disagreement * new_share(pool, pool.queries[waiting[i].query], seen);
      if (value > best_value) {
        best = i;
        best_value = value;
      }
    }
    const QueryRange& query = pool.queries[waiting[best].query];
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (!pool.documents[row].empty()) seen.insert(pool.documents[row]);
    chosen.push_back(std::move(waiting[best]));
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return chosen;
}

}  // namespace metafuse::fusion
