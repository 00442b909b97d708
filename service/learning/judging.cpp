#include "service/learning/judging.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/random.h"
#include "service/learning/judge_grades.h"

namespace metafuse::service {
namespace {

/// The rank by which a result enters the pool: its place in the fused ranking, or its best rank in a list.
int rank_in_pool(const FusedResult& result, std::size_t place, bool is_of_lists) {
  if (!is_of_lists) return static_cast<int>(place) + 1;
  int best = std::numeric_limits<int>::max();
  for (const Placement& placement : result.placements) best = std::min(best, placement.rank);
  return best;
}

std::uint64_t order_seed(const SearchAnswer& answer, std::string_view judge) {
  return digest_seed(
      fmt::format("{}\n{}\n{}", answer.domain, slots_text(answer.slots) + answer.query, judge));
}

}  // namespace

std::vector<std::size_t> pooled_positions(const SearchAnswer& answer, const JudgedPool& pool,
                                          std::string_view judge) {
  std::vector<std::pair<int, std::size_t>> ranked;
  for (std::size_t i = 0; i < answer.results.size(); ++i)
    if (const int rank = rank_in_pool(answer.results[i], i, pool.is_of_lists); rank <= pool.depth)
      ranked.emplace_back(rank, i);
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > kMaxPooled) ranked.resize(kMaxPooled);
  std::vector<std::size_t> positions;
  for (const auto& [rank, position] : ranked) positions.push_back(position);
  Random(order_seed(answer, judge)).shuffle(positions);
  return positions;
}

namespace {

QueuedQuery queued(SearchedQuery asked, const JudgedQuery* judged, std::string_view judge) {
  QueuedQuery out;
  out.asked = std::move(asked);
  if (judged == nullptr) return out;
  std::set<std::string_view> documents;
  std::set<std::string_view> judges;
  for (const StoredJudgment& judgment : judged->judgments) {
    if (is_model_judge(judgment.judge)) continue;
    documents.insert(judgment.document);
    judges.insert(judgment.judge);
    out.own_documents += judgment.judge == judge ? 1 : 0;
  }
  out.documents = documents.size();
  out.judges = judges.size();
  return out;
}

/// The best grade that people gave, at least 1.
int best_of_people(const std::vector<JudgedQuery>& queries) {
  int best = 1;
  for (const JudgedQuery& query : queries)
    for (const StoredJudgment& judgment : query.judgments)
      if (!is_model_judge(judgment.judge)) best = std::max(best, judgment.grade);
  return best;
}

/// The grades of two judges of one document; a model's beside a person's is read on people's scale.
std::pair<int, int> grades_on_one_scale(const StoredJudgment& a, const StoredJudgment& b, int best) {
  const bool is_mixed = is_model_judge(a.judge) != is_model_judge(b.judge);
  const auto read = [&](const StoredJudgment& one) {
    return is_mixed && is_model_judge(one.judge) ? on_scale(one.grade, best) : one.grade;
  };
  return {read(a), read(b)};
}

std::vector<JudgePair> judge_pairs(const std::vector<JudgedQuery>& queries) {
  const int best = best_of_people(queries);
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<int, int>>> common;
  for (const JudgedQuery& query : queries)  // judgments are sorted by document, then judge
    for (std::size_t i = 0; i < query.judgments.size(); ++i)
      for (std::size_t j = i + 1; j < query.judgments.size(); ++j) {
        const StoredJudgment& a = query.judgments[i];
        const StoredJudgment& b = query.judgments[j];
        if (a.document != b.document) break;
        common[{a.judge, b.judge}].push_back(grades_on_one_scale(a, b, best));
      }
  std::vector<JudgePair> pairs;
  for (const auto& [names, grades] : common)
    pairs.push_back({names.first, names.second, evaluation::judge_agreement(grades)});
  return pairs;
}

const JudgedQuery* find_judged(const std::vector<JudgedQuery>& queries, std::string_view digest) {
  const std::size_t at = position_of(queries, digest);
  return at < queries.size() ? &queries[at] : nullptr;
}

}  // namespace

Result<JudgingState> judging_state(Store& store, std::string_view domain, std::string_view judge) {
  TRY(const auto judged, store.judgments.queries(domain));
  TRY(auto asked, store.searches.asked_queries(domain, kMaxQueued + 1, judge));
  JudgingState state;
  state.pairs = judge_pairs(judged);
  state.has_more = asked.size() > kMaxQueued;
  if (state.has_more) asked.pop_back();
  for (SearchedQuery& query : asked) {
    const JudgedQuery* known = find_judged(judged, query.query);
    state.queries.push_back(queued(std::move(query), known, judge));
    state.judged += state.queries.back().own_documents > 0 ? 1 : 0;
  }
  if (state.has_more)
    state.judged =
        static_cast<std::size_t>(std::count_if(judged.begin(), judged.end(), [&](const JudgedQuery& query) {
          return std::any_of(query.judgments.begin(), query.judgments.end(),
                             [&](const StoredJudgment& one) { return one.judge == judge; });
        }));
  return state;
}

const QueuedQuery* next_query(const JudgingState& state, std::string_view after) {
  const std::size_t count = state.queries.size();
  std::size_t at = 0;
  while (at < count && state.queries[at].asked.query != after) ++at;
  for (std::size_t step = 1; step <= count; ++step) {
    const QueuedQuery& query = state.queries[(at + step) % (count + 1) % count];
    if (query.own_documents == 0 && query.asked.query != after) return &query;
  }
  return nullptr;
}

Result<std::map<std::string, int>> grades_by(Store& store, std::string_view domain, std::string_view query,
                                             std::string_view judge) {
  TRY(const auto judgments, store.judgments.of(domain, query));
  std::map<std::string, int> grades;
  for (const StoredJudgment& judgment : judgments)
    if (judgment.judge == judge) grades[judgment.document] = judgment.grade;
  return grades;
}

Result<std::string> store_grades(Store& store, const JudgmentSource& source, std::string_view search,
                                 const GradesByPosition& grades) {
  if (!is_search_id(search)) return "search_id: send that of the results to judge";
  TRY(const auto found, store.shown_search(search));
  if (!found || found->domain != source.domain)
    return "search_id: no such search in this domain; ask for the results again";
  std::vector<StoredJudgment> judgments;
  for (const auto& [position, grade] : grades) {
    if (position < 1 || position > found->shown.size())
      return fmt::format("position {}: send 1 to {}", position, found->shown.size());
    if (grade < 0 || grade > kBestGrade) return fmt::format("grade {}: send 0 to {}", grade, kBestGrade);
    const std::string& document = found->documents[found->shown[position - 1].document];
    judgments.push_back(
        {found->domain, found->query, document, std::string(source.judge), grade, found->id, source.now});
  }
  TRY_VOID(store.judgments.set(judgments));
  return std::string();
}

}  // namespace metafuse::service
