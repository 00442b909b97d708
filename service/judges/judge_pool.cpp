#include "service/judges/judge_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "service/learning/judging.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/search_log.h"
#include "service/search/reasons.h"
#include "service/search/result_passages.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostShownWords = 200;  // bytes
constexpr std::chrono::seconds kPassagesIn{30};

/// A search for a query's slots, or for its words, as they were typed.
Result<PreparedSearch> prepared_query(const Snapshot& snapshot, const LoadedDomain& domain,
                                      const BaseQuery& query, const Clock& clock) {
  SearchRequest request;
  request.domain = domain.domain.name;
  request.asks_all = true;
  if (is_plain_query(query, plain_slot(domain.domain)))
    request.text = query.slots.begin()->second;
  else
    request.slots = query;
  return prepare_search(snapshot, domain, std::move(request), clock);
}

/// A query's words on one line, for people.
std::string shown_words(const BaseQuery& query) {
  std::string words;
  for (const auto& [slot, value] : query.slots) words += (words.empty() ? "" : ", ") + value;
  return text_to_grade(words, kMostShownWords);
}

/// Searches one query and adds what is found to the pool.
void pool_query(const Snapshot& snapshot, const LoadedDomain& domain, const BaseQuery& query,
                const JudgePoolOptions& options, const Clock& clock, JudgePool& pool) {
  auto ready = prepared_query(snapshot, domain, query, clock);
  if (!ready) {
    ++pool.unasked;
    return note_once(fmt::format("the query \"{}\": {}", shown_words(query), ready.error().text),
                     pool.failures);
  }
  PreparedSearch& prepared = *ready;
  prepared.end = clock.now() +
                 std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.query_seconds));
  SearchAnswer answer = search_prepared(prepared, clock);
  for (const fetchers::FetchedList& list : answer.lists) {
    if (!list.has_failed()) continue;
    ++pool.failed_lists;
    note_failure(list, pool.failures);
  }
  const auto positions = pooled_positions(answer, {true, options.depth}, options.judge);
  if (positions.empty()) {
    ++pool.empty;
    return;
  }
  set_passages(snapshot, positions, Deadline(clock, kPassagesIn), answer);
  PooledQuery pooled{stored_search(answer, positions, options.identity, options.now),
                     {text_to_grade(answer.query, options.limits.query), {}, {}}};
  pooled.search.times = 0;
  for (std::size_t i = 0; i < std::min(positions.size(), pooled.search.shown.size()); ++i) {
    const FusedResult& result = answer.results[positions[i]];
    pooled.task.documents.push_back(result.hit.key);
    pooled.task.texts.push_back({text_to_grade(result.hit.title, options.limits.title),
                                 text_to_grade(result.hit.snippet, options.limits.text)});
  }
  pool.queries.push_back(std::move(pooled));
}

/// Calls `take` with each grade of the run: the query, the position of its document, and the grade.
template <class Take>
void for_each_grade(const JudgePool& pool, const JudgeRun& run, const Take& take) {
  for (std::size_t q = 0; q < pool.queries.size(); ++q)
    for (std::size_t d = 0; d < run.grades[q].size(); ++d)
      if (run.grades[q][d]) take(pool.queries[q], d, *run.grades[q][d]);
}

}  // namespace

Result<JudgePool> pool_results(const Snapshot& snapshot, const std::vector<BaseQuery>& queries,
                               const JudgePoolOptions& options, const Clock& clock) {
  TRY(const LoadedDomain* const domain, named_domain(snapshot, options.domain));
  JudgePool pool;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    TRY_VOID(check_interrupt(options.is_interrupted));
    pool_query(snapshot, *domain, queries[i], options, clock, pool);
    if (options.progress) options.progress(i + 1, queries.size());
  }
  if (!pool.queries.empty()) return pool;
  if (pool.failed_lists > 0)
    return fail(Code::unavailable,
                fmt::format("domain {}: no query found a result, and lists failed ({}); run metafuse config "
                            "check --live",
                            domain->domain.name, pool.failures.front()));
  if (pool.unasked > 0 && pool.unasked == queries.size())
    return fail(Code::bad_data, fmt::format("domain {}: none of the {} queries can be asked; {}",
                                            domain->domain.name, queries.size(), pool.failures.front()));
  return fail(Code::bad_data, fmt::format("domain {}: none of the {} queries found a result, so there is "
                                          "nothing to judge; check the queries",
                                          domain->domain.name, queries.size()));
}

Result<AskedQueries> most_asked(Store& store, const Snapshot& snapshot, const std::string& domain,
                                std::size_t count, const Clock& clock) {
  TRY(const LoadedDomain* const loaded, named_domain(snapshot, domain));
  TRY(auto asked, store.searches.asked_queries(domain, std::max(count, kMaxQueued)));
  AskedQueries out;
  for (SearchedQuery& query : asked)
    if (out.queries.size() < count && prepared_query(snapshot, *loaded, query.slots, clock))
      out.queries.push_back(std::move(query.slots));
  if (out.queries.empty())
    return fail(Code::bad_data, "domain " + domain +
                                    ": the store knows no query in words that can be asked; give some with "
                                    "--queries FILE");
  TRY(out.wordless, store.searches.count_wordless(domain));
  return out;
}

StoreBatch judgments_of(const JudgePool& pool, const JudgeRun& run, const JudgePoolOptions& options) {
  StoreBatch batch;
  for (const PooledQuery& query : pool.queries) batch.searches.push_back(query.search);
  for_each_grade(pool, run, [&](const PooledQuery& query, std::size_t document, int grade) {
    const StoredSearch& search = query.search;
    batch.judgments.push_back({search.domain, search.query, search.documents[search.shown[document].document],
                               options.judge, grade, search.id, options.now});
  });
  return batch;
}

std::string qrels_of(const JudgePool& pool, const JudgeRun& run, std::string_view plain_slot) {
  std::string out;
  for_each_grade(pool, run, [&](const PooledQuery& query, std::size_t document, int grade) {
    SearchedQuery asked;
    asked.query = query.search.query;
    asked.slots = query.search.slots;
    out += fmt::format("{} 0 {} {}\n", query_word(asked, plain_slot),
                       document_word(query.task.documents[document]), grade);
  });
  return out;
}

}  // namespace metafuse::service
