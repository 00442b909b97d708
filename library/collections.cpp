// Runs and judgments of metafuse.h, collected in memory or read from files.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/keyed_hash.h"
#include "core/number.h"
#include "library/handles.h"

namespace metafuse::library {
namespace {

using evaluation::RunEntry;
using evaluation::RunTopic;

/// The id of document i, checked to be neither null nor empty.
Result<std::string_view> document_at(const char* const* documents, std::size_t i, std::string_view query) {
  if (documents[i] == nullptr || *documents[i] == '\0')
    return fail(Code::bad_data,
                fmt::format("query {}, document {}: the id is empty; give one", query, i + 1));
  return std::string_view(documents[i]);
}

Result<void> check_differ(const std::vector<RunEntry>& entries, std::string_view query) {
  thread_local evaluation::IdTable ids;
  ids.clear();
  bool is_new = false;
  for (const RunEntry& entry : entries) {
    ids.insert(entry.document, is_new);
    if (!is_new)
      return fail(Code::bad_data, fmt::format("query {}: the document {} occurs twice; keep the better rank",
                                              query, entry.document));
  }
  return {};
}

Result<void> check_finite(double score, std::string_view query, std::string_view document) {
  if (std::isfinite(score)) return {};
  return fail(Code::bad_data, fmt::format("query {}: the score of {} is not finite; give every document a "
                                          "number",
                                          query, document));
}

Result<void> check_list(const metafuse_run& run, std::string_view query,
                        const std::vector<RunEntry>& entries) {
  if (run.queries.contains(query))
    return fail(Code::bad_data, fmt::format("the run {} already has a list for the query {}; add each query "
                                            "once",
                                            run.run.name, query));
  return check_differ(entries, query);
}

/// Moves the list of a query into the run, which keeps its texts.
void keep_list(metafuse_run& run, std::string_view query, std::vector<RunEntry> entries) {
  RunTopic topic{run.texts.keep(query), std::move(entries)};
  for (RunEntry& entry : topic.entries) entry.document = run.texts.keep(entry.document);
  run.queries.insert(topic.topic);
  run.is_sorted = run.is_sorted && (run.run.topics.empty() || run.run.topics.back().topic < topic.topic);
  run.run.topics.push_back(std::move(topic));
}

Result<void> add_list(metafuse_run& run, std::string_view query, std::vector<RunEntry> entries) {
  TRY_VOID(check_list(run, query, entries));
  keep_list(run, query, std::move(entries));
  return {};
}

Result<void> add_ordered(metafuse_run& run, std::string_view query, const char* const* documents,
                         const double* scores, std::size_t count) {
  std::vector<RunEntry> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    TRY(entries[i].document, document_at(documents, i, query));
    entries[i].score = scores == nullptr ? static_cast<double>(count - i) : scores[i];
    TRY_VOID(check_finite(entries[i].score, query, entries[i].document));
  }
  const auto stands_before = [](const RunEntry& a, const RunEntry& b) { return a.score > b.score; };
  if (!std::is_sorted(entries.begin(), entries.end(), stands_before))
    std::stable_sort(entries.begin(), entries.end(), stands_before);
  TRY_VOID(add_list(run, query, std::move(entries)));
  run.has_scores = run.has_scores && (scores != nullptr || count == 0);
  return {};
}

/// The rows of one query in a table; queries come in the order of their first rows.
struct QueryRows {
  std::string_view query;
  std::vector<std::size_t> rows;
};

Result<std::vector<QueryRows>> rows_by_query(const char* const* queries, std::size_t count) {
  std::vector<QueryRows> out;
  TextViewMap<std::size_t> places;
  std::size_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (queries[i] == nullptr)
      return fail(Code::bad_data, fmt::format("row {}: the query is NULL; give an id", i + 1));
    // Usually the rows of a query are consecutive.
    if (i == 0 || (queries[i] != queries[i - 1] && out[place].query != queries[i])) {
      const auto [at, is_new] = places.try_emplace(queries[i], out.size());
      if (is_new) out.push_back({at->first, {}});
      place = at->second;
    }
    out[place].rows.push_back(i);
  }
  return out;
}

/// The rows of one query as a list, in the order of a run file.
Result<std::vector<RunEntry>> ordered_rows(const QueryRows& query, const char* const* documents,
                                           const double* scores, const std::int64_t* ranks) {
  std::vector<evaluation::RunLine> lines;
  lines.reserve(query.rows.size());
  for (const std::size_t row : query.rows) {
    TRY(const std::string_view document, document_at(documents, row, query.query));
    const std::int64_t rank = ranks == nullptr ? 0 : ranks[row];
    lines.push_back({document, scores == nullptr ? -static_cast<double>(rank) : scores[row], rank});
    TRY_VOID(check_finite(lines.back().score, query.query, document));
  }
  evaluation::sort_as_listed(lines);
  std::vector<RunEntry> entries;
  entries.reserve(lines.size());
  for (const evaluation::RunLine& line : lines) entries.push_back({line.document, line.score});
  return entries;
}

Result<evaluation::QueryJudgments> judged_rows(const metafuse_qrels& qrels, const QueryRows& query,
                                               const char* const* documents, const std::int32_t* grades) {
  if (qrels.queries.contains(query.query))
    return fail(Code::bad_data,
                fmt::format("the query {} already has judgments; add each query once", query.query));
  evaluation::QueryJudgments judged{query.query, {}};
  judged.documents.reserve(query.rows.size());
  for (const std::size_t row : query.rows) {
    TRY(const std::string_view document, document_at(documents, row, query.query));
    judged.documents.push_back({document, grades[row]});
  }
  std::sort(judged.documents.begin(), judged.documents.end(),
            [](const auto& a, const auto& b) { return a.document < b.document; });
  for (std::size_t i = 1; i < judged.documents.size(); ++i)
    if (judged.documents[i - 1].document == judged.documents[i].document)
      return fail(Code::bad_data, fmt::format("query {}: the document {} is judged twice; keep one grade",
                                              query.query, judged.documents[i].document));
  return judged;
}

/// Moves the judgments of a query into the set, which keeps their texts.
void keep_judged(metafuse_qrels& qrels, evaluation::QueryJudgments judged) {
  judged.query = qrels.texts.keep(judged.query);
  for (evaluation::Judgment& judgment : judged.documents)
    judgment.document = qrels.texts.keep(judgment.document);
  qrels.queries.insert(judged.query);
  auto& queries = qrels.judgments.queries;
  qrels.is_sorted = qrels.is_sorted && (queries.empty() || queries.back().query < judged.query);
  queries.push_back(std::move(judged));
}

Result<void> check_writable_id(std::string_view id) {
  if (evaluation::is_run_column(id)) return {};
  return fail(Code::bad_data,
              fmt::format("the id \"{}\" is empty or contains a blank, which run files do not allow", id));
}

Result<void> write_run(const evaluation::Run& run, const std::string& path) {
  TRY_VOID(check_writable_id(run.name));
  TRY(auto output, FileWriter::open(path));
  for (const RunTopic& topic : run.topics) {
    TRY_VOID(check_writable_id(topic.topic));
    std::string text;
    for (std::size_t i = 0; i < topic.entries.size(); ++i) {
      TRY_VOID(check_writable_id(topic.entries[i].document));
      text += fmt::format("{} Q0 {} {} ", topic.topic, topic.entries[i].document, i + 1);
      append_number(text, topic.entries[i].score);
      text += ' ' + run.name + '\n';
    }
    TRY_VOID(output.write(text));
  }
  return output.commit();
}

const RunTopic* topic_at(const metafuse_run* run, std::size_t query) {
  if (run == nullptr || query >= run->run.topics.size()) return nullptr;
  return &run->sorted().topics[query];
}

const RunEntry* entry_at(const metafuse_run* run, std::size_t query, std::size_t position) {
  const RunTopic* const topic = topic_at(run, query);
  return topic == nullptr || position >= topic->entries.size() ? nullptr : &topic->entries[position];
}

}  // namespace
}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

int metafuse_run_new(const char* name, metafuse_run** run) {
  return guarded({{name, "name"}, {run, "run"}}, [&]() -> Result<void> {
    auto made = std::make_unique<metafuse_run>();
    made->run.name = name;
    *run = made.release();
    return {};
  });
}

int metafuse_run_read(const char* file, metafuse_run** run) {
  return guarded({{file, "file"}, {run, "run"}}, [&]() -> Result<void> {
    TRY(auto read, evaluation::read_run(file, {.is_lenient = true}));
    auto made = std::make_unique<metafuse_run>();
    made->run.name = read.name;
    for (RunTopic& topic : read.topics) TRY_VOID(add_list(*made, topic.topic, std::move(topic.entries)));
    *run = made.release();
    return {};
  });
}

void metafuse_run_free(metafuse_run* run) {
  delete run;
}

int metafuse_run_add(metafuse_run* run, const char* query, const char* const* documents, const double* scores,
                     size_t count) {
  return guarded({{run, "run"}, {query, "query"}}, [&]() -> Result<void> {
    if (count > 0) TRY_VOID(check_given({{documents, "documents"}}));
    return add_ordered(*run, query, documents, scores, count);
  });
}

int metafuse_run_add_rows(metafuse_run* run, const char* const* queries, const char* const* documents,
                          const double* scores, const int64_t* ranks, size_t count) {
  return guarded({{run, "run"}}, [&]() -> Result<void> {
    if (count == 0) return {};
    TRY_VOID(check_given({{queries, "queries"}}));
    TRY_VOID(check_given({{documents, "documents"}}));
    if (scores == nullptr) TRY_VOID(check_given({{ranks, "ranks"}}));
    TRY(const auto groups, rows_by_query(queries, count));
    std::vector<std::vector<RunEntry>> lists;  // all are checked before one is kept
    for (const QueryRows& group : groups) {
      TRY(auto entries, ordered_rows(group, documents, scores, ranks));
      TRY_VOID(check_list(*run, group.query, entries));
      lists.push_back(std::move(entries));
    }
    for (std::size_t i = 0; i < groups.size(); ++i) keep_list(*run, groups[i].query, std::move(lists[i]));
    run->has_scores = run->has_scores && scores != nullptr;
    return {};
  });
}

int metafuse_run_write(const metafuse_run* run, const char* file) {
  return guarded({{run, "run"}, {file, "file"}},
                 [&]() -> Result<void> { return write_run(run->sorted(), file); });
}

const char* metafuse_run_name(const metafuse_run* run) {
  return run == nullptr ? nullptr : run->run.name.c_str();
}

size_t metafuse_run_query_count(const metafuse_run* run) {
  return run == nullptr ? 0 : run->run.topics.size();
}

const char* metafuse_run_query(const metafuse_run* run, size_t query) {
  const RunTopic* const topic = topic_at(run, query);
  return topic == nullptr ? nullptr : topic->topic.data();
}

size_t metafuse_run_size(const metafuse_run* run, size_t query) {
  const RunTopic* const topic = topic_at(run, query);
  return topic == nullptr ? 0 : topic->entries.size();
}

const char* metafuse_run_document(const metafuse_run* run, size_t query, size_t position) {
  const RunEntry* const entry = entry_at(run, query, position);
  return entry == nullptr ? nullptr : entry->document.data();
}

double metafuse_run_score(const metafuse_run* run, size_t query, size_t position) {
  const RunEntry* const entry = entry_at(run, query, position);
  return entry == nullptr ? 0.0 : entry->score;
}

int metafuse_qrels_new(metafuse_qrels** qrels) {
  return guarded({{qrels, "qrels"}}, [&]() -> Result<void> {
    *qrels = std::make_unique<metafuse_qrels>().release();
    return {};
  });
}

int metafuse_qrels_read(const char* file, metafuse_qrels** qrels) {
  return guarded({{file, "file"}, {qrels, "qrels"}}, [&]() -> Result<void> {
    TRY(auto read, evaluation::read_qrels(file));
    auto made = std::make_unique<metafuse_qrels>();
    for (const evaluation::QueryJudgments& query : read.queries) made->queries.insert(query.query);
    made->judgments = std::move(read);
    *qrels = made.release();
    return {};
  });
}

void metafuse_qrels_free(metafuse_qrels* qrels) {
  delete qrels;
}

int metafuse_qrels_add_rows(metafuse_qrels* qrels, const char* const* queries, const char* const* documents,
                            const int32_t* grades, size_t count) {
  return guarded({{qrels, "qrels"}}, [&]() -> Result<void> {
    if (count == 0) return {};
    TRY_VOID(check_given({{queries, "queries"}}));
    TRY_VOID(check_given({{documents, "documents"}}));
    TRY_VOID(check_given({{grades, "grades"}}));
    TRY(const auto groups, rows_by_query(queries, count));
    std::vector<evaluation::QueryJudgments> all;  // which are checked before one is kept
    for (const QueryRows& group : groups) {
      TRY(auto judged, judged_rows(*qrels, group, documents, grades));
      all.push_back(std::move(judged));
    }
    for (evaluation::QueryJudgments& judged : all) keep_judged(*qrels, std::move(judged));
    return {};
  });
}
