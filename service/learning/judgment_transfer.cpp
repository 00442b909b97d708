#include "service/learning/judgment_transfer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"
#include "core/url.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/run_file.h"
#include "service/http/head.h"
#include "service/learning/judge_grades.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostConflicts = 20;  ///< conflicts that are listed one by one

/// Adds one topic's list in a run to a search.
void add_run_list(const evaluation::Run& run, std::string_view topic, int depth, StoredSearch& search,
                  DocumentNumbers& numbers) {
  StoredList list{run.name, depth, false, {}};
  const evaluation::RunTopic* found = run.find(topic);
  list.has_failed = found == nullptr;
  for (std::size_t i = 0; found != nullptr && i < found->entries.size(); ++i) {
    if (depth > 0 && i >= static_cast<std::size_t>(depth)) break;
    list.documents.push_back(numbers.of(std::string(found->entries[i].document)));
  }
  search.lists.push_back(std::move(list));
}

int deepest_list(const std::vector<evaluation::Run>& runs) {
  std::size_t most = 0;
  for (const evaluation::Run& run : runs)
    for (const evaluation::RunTopic& topic : run.topics) most = std::max(most, topic.entries.size());
  return static_cast<int>(most);
}

/// The store's judgments of some domains by domain, query, document and judge, read once.
class KnownJudgments {
 public:
  static Result<KnownJudgments> read(StoredJudgments& judgments, const std::set<std::string>& domains) {
    KnownJudgments known;
    for (const std::string& domain : domains) {
      TRY(const auto queries, judgments.queries(domain));
      for (const JudgedQuery& query : queries)
        for (const StoredJudgment& judgment : query.judgments) known.place_of(judgment) = judgment;
    }
    return known;
  }

  /// Whether a judgment should be stored. Notes conflicts in the report.
  bool is_news(const StoredJudgment& judgment, ImportReport& report) {
    StoredJudgment& before = place_of(judgment);
    const bool is_known = !before.document.empty();
    const bool is_newer = !is_known || judgment.at >= before.at;
    if (is_known && before.grade != judgment.grade)
      report.conflicts.push_back(
          fmt::format("{} in query {}: {} gave {} and {}; the newer grade, {}, is kept", judgment.document,
                      judgment.query, judgment.judge, before.grade, judgment.grade,
                      is_newer ? judgment.grade : before.grade));
    if (!is_newer) {
      ++report.older;
      return false;
    }
    const bool is_same = is_known && before == judgment;
    before = judgment;
    report.known += is_same ? 1 : 0;
    return !is_same;
  }

 private:
  StoredJudgment& place_of(const StoredJudgment& judgment) {
    return judgments_[{judgment.domain, judgment.query, judgment.document, judgment.judge}];
  }

  std::map<std::tuple<std::string, std::string, std::string, std::string>, StoredJudgment> judgments_;
};

/// The slot of each searched domain that plain queries fill.
Result<std::map<std::string, std::string>> plain_slots(Store& store,
                                                       const std::vector<StoredSearch>& searches,
                                                       std::string_view given) {
  std::map<std::string, std::string> slots;
  for (const StoredSearch& search : searches) {
    const auto [slot, is_new] = slots.try_emplace(search.domain, given);
    if (is_new && given.empty()) {
      TRY(slot->second, store.privacy.plain_slot(search.domain));
    }
  }
  return slots;
}

/// Recomputes the queries' digests with the importing store's secret. A query whose slots are no longer known
/// keeps its digest.
void renew_digests(std::string_view secret, const std::map<std::string, std::string>& plain_slots,
                   StoreBatch& batch) {
  std::map<std::pair<std::string, std::string>, std::string> now;  // by domain and digest
  for (const StoredSearch& search : batch.searches)
    if (!search.slots.slots.empty())
      now[{search.domain, search.query}] =
          query_digest(secret, search.domain, search.slots, plain_slots.at(search.domain));
  const auto rename = [&](auto& row) {
    if (const auto at = now.find({row.domain, row.query}); at != now.end()) row.query = at->second;
  };
  for (StoredSearch& search : batch.searches) rename(search);
  for (StoredJudgment& judgment : batch.judgments) rename(judgment);
}

/// How many searches the store does not have; one that occurs several times counts once.
Result<std::size_t> count_new(Store& store, const std::vector<StoredSearch>& searches) {
  std::set<std::string_view> ids;
  for (const StoredSearch& search : searches) ids.insert(search.id);
  std::size_t count = 0;
  for (const std::string_view id : ids) {
    TRY(const auto found, store.searches.find(id));
    count += found ? 0 : 1;
  }
  return count;
}

}  // namespace

std::string ImportReport::text() const {
  std::string out = fmt::format(
      "{} searches and {} judgments imported; left out: {} older than the store's, {} that it has, {} of "
      "other domains; ",
      searches, judgments, older, known, foreign);
  if (unlisted) out += fmt::format("{} judged documents are in no list; ", *unlisted);
  out += fmt::format("{} conflicts", conflicts.size());
  for (std::size_t i = 0; i < std::min(conflicts.size(), kMostConflicts); ++i) out += "\n  " + conflicts[i];
  if (conflicts.size() > kMostConflicts) out += "\n  ...";
  return out;
}

Result<std::vector<OfflineQuery>> read_offline_queries(const OfflineFiles& files,
                                                       const StoreIdentity& identity, UnixTime at) {
  TRY(const auto runs, evaluation::read_runs(files.runs));
  TRY(const auto qrels, evaluation::read_qrels(files.qrels));
  const int depth = files.depth > 0 ? files.depth : deepest_list(runs);
  std::vector<OfflineQuery> out;
  for (const evaluation::QueryJudgments& judged : qrels.queries) {
    const bool is_in_a_run = std::any_of(runs.begin(), runs.end(), [&](const evaluation::Run& run) {
      return run.find(judged.query) != nullptr;
    });
    if (!is_in_a_run) continue;
    OfflineQuery query;
    StoredSearch& search = query.search;
    search.domain = files.domain;
    const auto slots = files.queries.find(std::string(judged.query));
    search.slots = slots != files.queries.end()
                       ? slots->second
                       : BaseQuery{{{plain_slot_name(identity.plain_slot), std::string(judged.query)}}};
    search.query = query_digest(identity.secret, files.domain, search.slots, identity.plain_slot);
    search.at = at;
    DocumentNumbers numbers(search);
    for (const evaluation::Run& run : runs) add_run_list(run, judged.query, depth, search, numbers);
    for (const evaluation::Judgment& judgment : judged.documents)
      query.grades[stored_document(identity, judgment.document)] = std::clamp(judgment.grade, 0, kMaxGrade);
    hide_words(search, identity);
    fit_to_limits(search);
    search.id = content_id(identity.secret, search);
    out.push_back(std::move(query));
  }
  if (out.empty())
    return fail(Code::bad_data,
                files.qrels + ": none of its queries is in a run; give the runs of these judgments");
  return out;
}

Result<ImportReport> import_offline_queries(Store& store, const std::vector<OfflineQuery>& queries,
                                            const std::string& judge, UnixTime at) {
  ImportReport report;
  if (queries.empty()) return report;
  TRY(auto known, KnownJudgments::read(store.judgments, {queries.front().search.domain}));
  StoreBatch batch;
  report.unlisted = 0;
  for (const OfflineQuery& query : queries) {
    const StoredSearch& search = query.search;
    batch.searches.push_back(search);
    const std::set<std::string_view> listed(search.documents.begin(), search.documents.end());
    for (const auto& [document, grade] : query.grades) {
      if (!listed.contains(document)) ++*report.unlisted;
      const StoredJudgment judgment{search.domain, search.query, document, judge, grade, search.id, at};
      if (!known.is_news(judgment, report)) continue;
      batch.judgments.push_back(judgment);
      ++report.judgments;
    }
  }
  TRY(report.searches, count_new(store, batch.searches));
  TRY_VOID(store.add_batch(batch));
  return report;
}

Result<ImportReport> import_lines(Store& store, ExportedLines exported, const StoreIdentity& identity) {
  ImportReport report;
  StoreBatch& batch = exported.batch;
  TRY(const auto slots, plain_slots(store, batch.searches, identity.plain_slot));
  renew_digests(identity.secret, slots, batch);
  std::set<std::string> domains;
  for (StoredSearch& search : batch.searches) hide_words(search, identity);
  for (StoredJudgment& judgment : batch.judgments) {
    judgment.document = stored_document(identity, judgment.document);
    domains.insert(judgment.domain);
  }
  TRY(auto known, KnownJudgments::read(store.judgments, domains));
  std::erase_if(batch.judgments, [&](const StoredJudgment& each) { return !known.is_news(each, report); });
  TRY(report.searches, count_new(store, batch.searches));
  TRY_VOID(store.add_batch(batch));
  report.judgments = batch.judgments.size();
  report.foreign = exported.foreign;
  return report;
}

namespace {

constexpr std::string_view kDigestWord = "digest:";
constexpr std::string_view kSlotWord = "slot.";
constexpr std::string_view kDocumentWord = "document:";

/// What a store of any kind can keep, and print as JSON.
bool is_plain_text(std::string_view text) {
  return first_invalid_utf8(text) == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

/// Whether a document is the key of its own URL.
bool is_url_key(std::string_view document) {
  const auto key = canonical_url_key((has_scheme(document) ? "" : "http://") + std::string(document));
  return key && *key == document;
}

/// The document that document_word() wrote, or that a file of another origin names by its URL.
///
/// in: tracking - nullptr: documents are ids of their own, and no URLs
Result<std::string> document_of_word(std::string_view word, const TrackingParameters* tracking) {
  std::string document(word);
  if (word.starts_with(kDocumentWord))
    document = percent_decoded(word.substr(kDocumentWord.size()));
  else if (tracking != nullptr && has_scheme(word)) {
    TRY(document, canonical_url_key(word, *tracking));
  }
  if (!is_plain_text(document))
    return fail(Code::bad_data, "the document is not UTF-8; save the judgments as UTF-8");
  return document;
}

/// The query that query_word() wrote.
Result<BaseQuery> query_of_word(std::string_view word, std::string_view plain_slot) {
  const auto damaged = [&] {
    return fail(Code::bad_data, fmt::format("the query {} is malformed; write it percent-encoded, or as "
                                            "slot.NAME=value&slot.NAME=value",
                                            evaluation::shown(word)));
  };
  BaseQuery query;
  if (word.find('=') == std::string_view::npos) {
    const auto text = percent_decode(word, false);
    if (!text || text->empty() || !is_plain_text(*text)) return damaged();
    query.slots[plain_slot_name(plain_slot)] = *text;
    return query;
  }
  const auto fields = parse_form(word);
  if (!fields) return damaged();
  for (const auto& [name, value] : *fields) {
    if (!name.starts_with(kSlotWord) || name.size() == kSlotWord.size()) return damaged();
    if (!is_plain_text(name) || !is_plain_text(value)) return damaged();
    query.slots[name.substr(kSlotWord.size())] = value;
  }
  return query;
}

}  // namespace

bool is_plain_query(const BaseQuery& query, std::string_view plain_slot) {
  return query.slots.size() == 1 && (query.slots.begin()->first == plain_slot_name(plain_slot) ||
                                     query.slots.begin()->first == plain_slot_name({}));
}

std::string query_word(const SearchedQuery& query, std::string_view plain_slot) {
  const auto& slots = query.slots.slots;
  if (slots.empty()) return std::string(kDigestWord) + query.query;
  if (is_plain_query(query.slots, plain_slot)) return percent_encoded(slots.begin()->second);
  std::string word;
  for (const auto& [name, value] : slots)
    word += fmt::format("{}{}{}={}", word.empty() ? "" : "&", kSlotWord, name, percent_encoded(value));
  return word;
}

std::string document_word(std::string_view document) {
  const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  const bool is_word = !document.empty() && !document.starts_with(kDocumentWord) &&
                       std::ranges::none_of(document, is_blank) &&
                       (!has_scheme(document) || is_url_key(document));  // else it would be read as a URL
  return is_word ? std::string(document) : std::string(kDocumentWord) + percent_encoded(document);
}

Result<std::vector<ImportedQuery>> read_qrels_text(std::string_view text, std::string_view plain_slot,
                                                   const TrackingParameters* tracking) {
  const FileText file{"qrels", text, nullptr};
  std::map<std::string, ImportedQuery> queries;
  evaluation::LineParser parser(text.data(), text.data() + text.size());
  while (parser.at() < text.data() + text.size()) {
    const char* const line = parser.at();
    const std::string word(parser.field());
    if (word.empty() || word.front() == '#') {
      parser.skip_line();
      parser.move_to(parser.next_line());
      continue;
    }
    parser.field();
    const auto document = document_of_word(parser.field(), tracking);
    const std::string_view grade_text = parser.field();
    std::int64_t grade = 0;
    if (!document) return evaluation::bad_line(file, line, document.error().text);
    if (!to_integer(grade_text, grade) || grade > kMaxGrade || !parser.at_line_end())
      return evaluation::bad_line(
          file, line,
          fmt::format("a line must be: query 0 document grade, with a grade up to {}", kMaxGrade));
    ImportedQuery& query = queries[word];
    if (word.starts_with(kDigestWord)) {
      query.digest = word.substr(kDigestWord.size());
      if (!is_plain_text(query.digest)) return evaluation::bad_line(file, line, "the digest is damaged");
    } else if (query.slots.slots.empty()) {
      auto slots = query_of_word(word, plain_slot);
      if (!slots) return evaluation::bad_line(file, line, slots.error().text);
      query.slots = std::move(*slots);
    }
    query.grades[*document] = static_cast<int>(std::max<std::int64_t>(0, grade));
    parser.move_to(parser.next_line());
  }
  std::vector<ImportedQuery> out;
  for (auto& [word, query] : queries) out.push_back(std::move(query));
  return out;
}

namespace {

/// The search that imported judgments of a query belong to.
struct SearchOfImport {
  std::string id;          ///< empty if there is none
  bool has_lists = false;  ///< whether a model can learn from it
};

/// Finds the latest search of a query. If there is none and the query's words may be stored, adds one that
/// holds only them to the batch, so that the query can wait for judges.
Result<SearchOfImport> search_of_import(Store& store, const JudgmentSource& source, const std::string& digest,
                                        const BaseQuery& words, StoreBatch& batch) {
  TRY(const auto asked, store.searches.find_query(source.domain, digest));
  if (asked) {
    TRY(const auto search, store.searches.find(asked->search));
    return SearchOfImport{asked->search, search && !search->lists.empty()};
  }
  if (words.slots.empty()) return SearchOfImport();
  StoredSearch& search = batch.searches.emplace_back();
  search.id = new_search_id();
  search.domain = std::string(source.domain);
  search.query = digest;
  search.slots = words;
  for (auto& [name, value] : search.slots.slots) value = std::string(trimmed(value));
  search.at = source.now;
  search.times = 0;
  fit_to_limits(search);
  return SearchOfImport{search.id, false};
}

}  // namespace

Result<ImportedJudgments> import_judgments(Store& store, const JudgmentSource& source,
                                           const std::vector<ImportedQuery>& queries,
                                           const StoreIdentity& identity) {
  ImportedJudgments report;
  StoreBatch batch;
  std::map<std::string, SearchOfImport> searches;  // by digest: several forms of one query are one
  std::set<std::pair<std::string, std::string>> graded;
  for (const ImportedQuery& query : queries) {
    const std::string digest =
        query.digest.empty() ? query_digest(identity.secret, source.domain, query.slots, identity.plain_slot)
                             : query.digest;
    const auto [at, is_new] = searches.try_emplace(digest);
    SearchOfImport& search = at->second;
    if (search.id.empty()) {
      const BaseQuery words = identity.are_queries_hashed ? BaseQuery() : query.slots;
      TRY(search, search_of_import(store, source, digest, words, batch));
    }
    for (const auto& [document, grade] : query.grades) {
      const std::string stored = stored_document(identity, document);
      batch.judgments.push_back({std::string(source.domain), digest, stored, std::string(source.judge), grade,
                                 search.id, source.now});
      graded.emplace(digest, stored);
    }
    report.without_search += !is_new || search.has_lists || query.grades.empty() ? 0 : 1;
  }
  TRY_VOID(store.add_batch(batch));
  report.queries = searches.size();
  report.judgments = graded.size();
  return report;
}

namespace {

Result<std::string> query_line(const SearchedQuery& asked, std::string_view plain_slot,
                               const std::map<std::string, int>& grades) {
  JsonArray relevant;
  for (const auto& [document, grade] : grades) {
    if (document.starts_with('#') || asked.slots.slots.empty())
      return fail(Code::usage, "this store hashes queries or documents; ask for format=qrels");
    const bool is_url = is_url_key(document);
    const std::string url = (is_url && !has_scheme(document) ? "http://" : "") + document;
    relevant.push_back(JsonObject{{is_url ? "url" : "id", url}, {"grade", grade}});
  }
  return to_text(JsonObject{{"id", query_word(asked, plain_slot)},
                            {"slots", slots_json(asked.slots)},
                            {"relevant", std::move(relevant)}}) +
         "\n";
}

}  // namespace

Result<std::string> judgments_text(Store& store, std::string_view domain, std::string_view plain_slot,
                                   JudgmentFormat format, std::string_view judge) {
  TRY(auto judged, store.judgments.queries(domain));
  std::string out;
  for (const JudgedQuery& query :
       judge.empty() ? of_people(std::move(judged)) : of_judge(std::move(judged), judge)) {
    const auto grades = grades_of(query);
    TRY(auto found, store.searches.find_query(domain, query.query));
    SearchedQuery asked = found ? std::move(*found) : SearchedQuery();
    asked.query = query.query;
    if (format == JudgmentFormat::lines) {
      TRY(const std::string line, query_line(asked, plain_slot, grades));
      out += line;
      continue;
    }
    for (const auto& [document, grade] : grades)
      out += fmt::format("{} 0 {} {}\n", query_word(asked, plain_slot), document_word(document), grade);
  }
  return out;
}

}  // namespace metafuse::service
