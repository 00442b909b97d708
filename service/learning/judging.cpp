#include "service/learning/judging.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/random.h"
#include "evaluation/runs/lines.h"
#include "service/base/digest.h"
#include "service/http/head.h"
#include "service/learning/feedback.h"
#include "service/learning/store_training.h"

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
  const std::string digest =
      sha256_hex(fmt::format("{}\n{}\n{}", answer.domain, slots_text(answer.slots) + answer.query, judge));
  return std::stoull(digest.substr(0, 16), nullptr, 16);
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

QueuedQuery queued(AskedQuery asked, const JudgedQuery* judged, std::string_view judge) {
  QueuedQuery out;
  out.asked = std::move(asked);
  if (judged == nullptr) return out;
  std::set<std::string_view> documents;
  std::set<std::string_view> judges;
  for (const StoredJudgment& judgment : judged->judgments) {
    documents.insert(judgment.document);
    judges.insert(judgment.judge);
    out.own_documents += judgment.judge == judge ? 1 : 0;
  }
  out.documents = documents.size();
  out.judges = judges.size();
  return out;
}

std::vector<JudgePair> judge_pairs(const std::vector<JudgedQuery>& queries) {
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<int, int>>> common;
  for (const JudgedQuery& query : queries)  // judgments are sorted by document, then judge
    for (std::size_t i = 0; i < query.judgments.size(); ++i)
      for (std::size_t j = i + 1; j < query.judgments.size(); ++j) {
        const StoredJudgment& a = query.judgments[i];
        const StoredJudgment& b = query.judgments[j];
        if (a.document != b.document) break;
        common[{a.judge, b.judge}].emplace_back(a.grade, b.grade);
      }
  std::vector<JudgePair> pairs;
  for (const auto& [names, grades] : common)
    pairs.push_back({names.first, names.second, evaluation::judge_agreement(grades)});
  return pairs;
}

const JudgedQuery* find_judged(const std::vector<JudgedQuery>& queries, std::string_view digest) {
  const auto at =
      std::lower_bound(queries.begin(), queries.end(), digest,
                       [](const JudgedQuery& one, std::string_view id) { return one.query < id; });
  return at != queries.end() && at->query == digest ? &*at : nullptr;
}

}  // namespace

Result<JudgingState> judging_state(Store& store, std::string_view domain, std::string_view judge) {
  TRY(const auto judged, store.judged_queries(domain));
  TRY(auto asked, store.asked_queries(domain, kMaxQueued));
  JudgingState state;
  state.pairs = judge_pairs(judged);
  for (AskedQuery& query : asked) {
    if (query.slots.slots.empty()) continue;
    const JudgedQuery* known = find_judged(judged, query.query);
    state.queries.push_back(queued(std::move(query), known, judge));
    state.judged += state.queries.back().own_documents > 0 ? 1 : 0;
  }
  std::stable_sort(state.queries.begin(), state.queries.end(),
                   [](const QueuedQuery& a, const QueuedQuery& b) {
                     return (a.own_documents == 0) > (b.own_documents == 0);
                   });
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
  TRY(const auto judged, store.judged_queries(domain));
  std::map<std::string, int> grades;
  if (const JudgedQuery* found = find_judged(judged, query))
    for (const StoredJudgment& judgment : found->judgments)
      if (judgment.judge == judge) grades[judgment.document] = judgment.grade;
  return grades;
}

Result<void> store_grades(Store& store, std::string_view domain, std::string_view judge,
                          std::string_view search, const GradesByPosition& grades, UnixTime now) {
  if (!is_search_id(search)) return fail(Code::usage, "search_id: send that of the results to judge");
  TRY(const auto found, store.find_search(search));
  if (!found || found->domain != domain)
    return fail(Code::usage, "search_id: no such search in this domain; ask for the results again");
  std::vector<StoredJudgment> judgments;
  for (const auto& [position, grade] : grades) {
    if (position < 1 || position > found->shown.size())
      return fail(Code::usage, fmt::format("position {}: send 1 to {}", position, found->shown.size()));
    if (grade < 0 || grade > kBestGrade)
      return fail(Code::usage, fmt::format("grade {}: send 0 to {}", grade, kBestGrade));
    const std::string& document = found->documents[found->shown[position - 1].document];
    judgments.push_back({found->domain, found->query, document, std::string(judge), grade, found->id, now});
  }
  return store.set_judgments(judgments);
}

namespace {

constexpr std::string_view kDigestWord = "digest:";
constexpr std::string_view kSlotWord = "slot.";

std::string plain_name(std::string_view plain_slot) {
  return plain_slot.empty() ? "QUERY" : std::string(plain_slot);
}

bool is_plain(const BaseQuery& query, std::string_view plain_slot) {
  return query.slots.size() == 1 &&
         (query.slots.begin()->first == plain_name(plain_slot) || query.slots.begin()->first == "QUERY");
}

}  // namespace

std::string query_word(const AskedQuery& query, std::string_view plain_slot) {
  const auto& slots = query.slots.slots;
  if (slots.empty()) return std::string(kDigestWord) + query.query;
  if (is_plain(query.slots, plain_slot)) return percent_encoded(slots.begin()->second);
  std::string word;
  for (const auto& [name, value] : slots)
    word += fmt::format("{}{}{}={}", word.empty() ? "" : "&", kSlotWord, name, percent_encoded(value));
  return word;
}

Result<BaseQuery> query_of_word(std::string_view word, std::string_view plain_slot) {
  const auto damaged = [&] {
    return fail(Code::bad_data, fmt::format("the query {} is malformed; write it percent-encoded, or as "
                                            "slot.NAME=value&slot.NAME=value",
                                            evaluation::shown(word)));
  };
  BaseQuery query;
  if (word.find('=') == std::string_view::npos) {
    const auto text = percent_decode(word, false);
    if (!text || text->empty()) return damaged();
    query.slots[plain_name(plain_slot)] = *text;
    return query;
  }
  const auto fields = parse_form(word);
  if (!fields) return damaged();
  for (const auto& [name, value] : *fields) {
    if (!name.starts_with(kSlotWord) || name.size() == kSlotWord.size()) return damaged();
    query.slots[name.substr(kSlotWord.size())] = value;
  }
  return query;
}

Result<std::vector<ImportedQuery>> read_qrels_text(std::string_view text, std::string_view plain_slot) {
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
    const std::string document(parser.field());
    const std::string_view grade_text = parser.field();
    std::int64_t grade = 0;
    if (!to_integer(grade_text, grade) || grade > kMaxGrade || !parser.at_line_end())
      return evaluation::bad_line(
          file, line,
          fmt::format("a line must be: query 0 document grade, with a grade up to {}", kMaxGrade));
    ImportedQuery& query = queries[word];
    if (word.starts_with(kDigestWord)) {
      query.digest = word.substr(kDigestWord.size());
    } else if (query.slots.slots.empty()) {
      auto slots = query_of_word(word, plain_slot);
      if (!slots) return evaluation::bad_line(file, line, slots.error().text);
      query.slots = std::move(*slots);
    }
    query.grades[document] = std::max(0, static_cast<int>(grade));
    parser.move_to(parser.next_line());
  }
  std::vector<ImportedQuery> out;
  for (auto& [word, query] : queries) out.push_back(std::move(query));
  return out;
}

namespace {

/// A search that holds only a query's words, so that the query can wait for judges.
StoredSearch words_of_query(std::string_view domain, const std::string& digest, const BaseQuery& slots,
                            UnixTime now) {
  StoredSearch search;
  search.id = new_search_id();
  search.domain = std::string(domain);
  search.query = digest;
  search.slots = slots;
  search.at = now;
  search.times = 0;
  fit_to_limits(search);
  return search;
}

/// Finds the latest search of a query. If there is none, stores one with the query's words only.
///
/// out: its id, empty if none may be stored; has_lists - whether a model can learn from it
Result<std::string> search_for(Store& store, std::string_view domain, const ImportedQuery& query,
                               const std::string& digest, bool may_store, UnixTime now, bool& has_lists) {
  has_lists = false;
  TRY(const auto asked, store.find_query(domain, digest));
  if (asked) {
    TRY(const auto search, store.find_search(asked->search));
    has_lists = search && !search->lists.empty();
    return asked->search;
  }
  if (!may_store || query.slots.slots.empty()) return std::string();
  const StoredSearch search = words_of_query(domain, digest, query.slots, now);
  TRY_VOID(store.add_searches({&search, 1}));
  return search.id;
}

}  // namespace

Result<ImportedJudgments> import_judgments(Store& store, std::string_view domain, std::string_view judge,
                                           const std::vector<ImportedQuery>& queries,
                                           const StoreIdentity& identity, UnixTime now) {
  ImportedJudgments report;
  for (const ImportedQuery& query : queries) {
    const std::string digest = query.digest.empty()
                                   ? query_digest(identity.secret, domain, query.slots, identity.plain_slot)
                                   : query.digest;
    bool has_lists = false;
    TRY(const std::string search,
        search_for(store, domain, query, digest, !identity.are_queries_hashed, now, has_lists));
    std::vector<StoredJudgment> judgments;
    for (const auto& [document, grade] : query.grades)
      judgments.push_back(
          {std::string(domain), digest,
           identity.are_queries_hashed ? hashed_document(identity.secret, document) : document,
           std::string(judge), grade, search, now});
    TRY_VOID(store.set_judgments(judgments));
    ++report.queries;
    report.judgments += judgments.size();
    report.without_search += has_lists || judgments.empty() ? 0 : 1;
  }
  return report;
}

namespace {

Result<std::string> query_line(const AskedQuery& asked, std::string_view plain_slot,
                               const std::map<std::string, int>& grades) {
  JsonArray relevant;
  for (const auto& [document, grade] : grades) {
    if (document.starts_with('#') || asked.slots.slots.empty())
      return fail(Code::usage, "this store hashes queries or documents; ask for format=qrels");
    relevant.push_back(JsonObject{{"url", "http://" + document}, {"grade", grade}});
  }
  JsonObject slots;
  for (const auto& [name, value] : asked.slots.slots) slots[name] = value;
  return to_text(JsonObject{{"id", query_word(asked, plain_slot)},
                            {"slots", std::move(slots)},
                            {"relevant", std::move(relevant)}}) +
         "\n";
}

}  // namespace

Result<std::string> judgments_text(Store& store, std::string_view domain, std::string_view plain_slot,
                                   JudgmentFormat format, std::string_view judge) {
  TRY(const auto judged, store.judged_queries(domain));
  std::string out;
  for (const JudgedQuery& query : judged) {
    JudgedQuery wanted = query;
    if (!judge.empty())
      std::erase_if(wanted.judgments, [&](const StoredJudgment& one) { return one.judge != judge; });
    const auto grades = grades_of(wanted);
    if (grades.empty()) continue;
    TRY(auto found, store.find_query(domain, query.query));
    AskedQuery asked = found ? std::move(*found) : AskedQuery();
    asked.query = query.query;
    if (format == JudgmentFormat::lines) {
      TRY(const std::string line, query_line(asked, plain_slot, grades));
      out += line;
      continue;
    }
    for (const auto& [document, grade] : grades)
      out += fmt::format("{} 0 {} {}\n", query_word(asked, plain_slot), document, grade);
  }
  return out;
}

}  // namespace metafuse::service
