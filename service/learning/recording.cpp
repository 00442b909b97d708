#include "service/learning/recording.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json_members.h"
#include "core/text_file.h"
#include "core/url.h"
#include "service/learning/judgment_transfer.h"
#include "service/search/reasons.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostIdBytes = 8192;  ///< as of a URL

/// The text of a value; empty for one that is no string.
std::string text_in(const Json* value) {
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

Result<JudgedBaseQuery::Relevant> read_relevant(const Json& item, const std::string& place,
                                                const TrackingParameters& tracking) {
  const JsonMembers judgment(item);
  if (!judgment.is_object()) return fail(Code::bad_data, place + ": a judgment must be {\"url\",\"grade\"}");
  JudgedBaseQuery::Relevant answer;
  answer.url = text_in(judgment.find("url"));
  answer.key = text_in(judgment.find("id"));
  if (answer.key.size() > kMostIdBytes || answer.key.find('\0') != std::string::npos)
    return fail(Code::bad_data,
                fmt::format("{}: an id has at most {} bytes, and no NUL", place, kMostIdBytes));
  if (answer.key.empty()) {
    auto key = canonical_url_key(answer.url, tracking);
    if (!key) return fail(Code::bad_data, place + ": " + key.error().text);
    answer.key = std::move(*key);
  }
  if (judgment.find("grade") != nullptr) {
    const auto* grade = judgment.integer("grade");
    if (grade == nullptr || *grade < -1000 || *grade > 1000)
      return fail(Code::bad_data, place + ": a grade must be a whole number");
    answer.grade = static_cast<int>(*grade);
  }
  return answer;
}

}  // namespace

Result<JudgedBaseQuery> read_judged_query(const Json& json, const std::string& place,
                                          const TrackingParameters& tracking) {
  const JsonMembers members(json);
  if (!members.is_object())
    return fail(Code::bad_data,
                place + ": not a JSON object; write {\"id\",\"slots\":{...},\"relevant\":[...]}");
  JudgedBaseQuery query;
  query.id = text_in(members.find("id"));
  if (const auto* id = members.integer("id")) query.id = std::to_string(*id);
  if (query.id.empty() || query.id.find_first_of(" \t\r\n") != std::string::npos)
    return fail(Code::bad_data, place + ": an id must be a string without blanks");
  const JsonObject* slots = members.object("slots");
  if (slots == nullptr)
    return fail(Code::bad_data,
                place + ": no \"slots\"; give the base query's values as {\"NAME\":\"value\"}");
  for (const auto& [name, value] : *slots) {
    if (!value.is_string())
      return fail(Code::bad_data,
                  place + ": the slot " + std::string(name) + " is not a string; put its value in quotes");
    query.slots.slots.emplace(name, std::string(value.as_string()));
  }
  const Json* relevant = members.find("relevant");
  if (relevant == nullptr) return query;
  if (!relevant->is_array())
    return fail(Code::bad_data, place + ": \"relevant\" is not a list; write [{\"url\",\"grade\"}]");
  for (const Json& item : relevant->as_array()) {
    TRY(auto answer, read_relevant(item, place, tracking));
    query.relevant.push_back(std::move(answer));
  }
  return query;
}

Result<std::vector<JudgedBaseQuery>> read_judged_queries(const std::string& path,
                                                         const TrackingParameters& tracking) {
  std::vector<JudgedBaseQuery> queries;
  std::map<std::string, std::size_t> lines;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    auto json = parse_json(line, path, Code::bad_data, {.first_line = number});
    if (!json && queries.empty())  // the file is of another kind
      return fail(
          Code::bad_data,
          json.error().text + R"(; base queries are JSON lines: {"id":"1","slots":{"NAME":"value"}})");
    if (!json) return json.error();
    const std::string place = path + ":" + std::to_string(number);
    TRY(auto query, read_judged_query(*json, place, tracking));
    const auto [at, is_new] = lines.emplace(query.id, number);
    if (!is_new)
      return fail(Code::bad_data,
                  place + ": the id " + query.id + " is already used in line " + std::to_string(at->second));
    queries.push_back(std::move(query));
    return {};
  }));
  if (queries.empty())
    return fail(Code::bad_data,
                path + ": no base query; a line must be {\"id\",\"slots\":{...},\"relevant\":[...]}");
  return queries;
}

namespace {

using fetchers::FetchedList;

/// One base query's recorded lists: for each feature the keys in order, and the URL of each key.
struct RecordedQuery {
  std::string id;
  bool is_complete = true;
  std::map<std::string, std::vector<std::string>> keys;   ///< by feature
  std::vector<std::pair<std::string, std::string>> urls;  ///< pairs of key and URL as delivered
};

std::string journal_line(const RecordedQuery& recorded) {
  JsonObject lists, urls;
  for (const auto& [feature, keys] : recorded.keys) {
    lists[feature] = JsonArray(keys.begin(), keys.end());
  }
  for (const auto& [key, url] : recorded.urls) urls[key] = url;
  return to_text(JsonObject{{"id", recorded.id},
                            {"complete", recorded.is_complete},
                            {"lists", std::move(lists)},
                            {"urls", std::move(urls)}});
}

Result<RecordedQuery> read_journal_line(const Json& json, const std::string& place) {
  const JsonMembers members(json);
  const JsonObject* lists = members.object("lists");
  const JsonObject* urls = members.object("urls");
  const auto is_list = [](const auto& member) { return member.value().is_array(); };
  if (lists == nullptr || urls == nullptr || !std::all_of(lists->begin(), lists->end(), is_list))
    return fail(Code::bad_data, place + ": not a line of a recording; use another output folder");
  RecordedQuery recorded;
  recorded.id = text_in(members.find("id"));
  const bool* complete = members.flag("complete");
  recorded.is_complete = complete != nullptr && *complete;
  for (const auto& [feature, keys] : *lists) {
    std::vector<std::string>& out = recorded.keys[feature];
    for (const Json& key : keys.get_array()) out.push_back(text_in(&key));
  }
  for (const auto& [key, url] : *urls) recorded.urls.emplace_back(key, text_in(&url));
  return recorded;
}

/// Reads the journal of an earlier run. A line that is no JSON, because it was cut off, is ignored, so that
/// its query is asked again.
Result<std::map<std::string, RecordedQuery>> read_journal(const std::string& path) {
  std::map<std::string, RecordedQuery> out;
  if (!std::filesystem::exists(path)) return out;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const auto json = parse_json(line, path);
    if (!json) return {};
    TRY(auto recorded, read_journal_line(*json, path + ":" + std::to_string(number)));
    std::string id = recorded.id;
    out.insert_or_assign(std::move(id), std::move(recorded));
    return {};
  }));
  return out;
}

RecordedQuery recorded_lists(const std::string& id, const std::vector<FetchedList>& lists,
                             RecordReport& report) {
  RecordedQuery recorded;
  recorded.id = id;
  std::set<std::string> seen;
  for (const FetchedList& list : lists) {
    auto& keys = recorded.keys[list.query.feature_name()];
    if (list.has_failed() || list.lacks_pages) {
      recorded.is_complete = false;
      ++report.failed_lists;
      note_failure(list, report.failures);
    }
    if (list.has_failed()) continue;
    for (const Hit& hit : list.list.hits) {
      if (seen.insert(hit.key).second) recorded.urls.emplace_back(hit.key, hit.url);
      keys.push_back(hit.key);
    }
  }
  return recorded;
}

/// Writes a recording's files from all recorded queries.
class Files {
 public:
  Files(const RecordOptions& options, const LoadedDomain& domain) : options_(options), domain_(domain) {}

  void add(const JudgedBaseQuery& query, const RecordedQuery& recorded, RecordReport& report) {
    for (const auto& [key, url] : recorded.urls) urls_.insert_or_assign(key, url);
    bool is_found = query.relevant.empty();
    for (const auto& [feature, keys] : recorded.keys) {
      std::string& run = runs_[feature];
      for (std::size_t i = 0; i < keys.size(); ++i)
        run += fmt::format("{} Q0 {} {} {} {}\n", query.id, keys[i], i + 1, keys.size() - i, feature);
      for (const auto& relevant : query.relevant)
        is_found = is_found || std::find(keys.begin(), keys.end(), relevant.key) != keys.end();
    }
    if (!is_found) ++report.unanswerable;
    std::map<std::string, int> grades;
    for (const auto& relevant : query.relevant) {
      const auto [at, is_new] = grades.emplace(relevant.key, relevant.grade);
      at->second = std::max(at->second, relevant.grade);
      if (!relevant.url.empty()) urls_.emplace(relevant.key, relevant.url);
    }
    for (const auto& [key, grade] : grades)
      qrels_ += fmt::format("{} 0 {} {}\n", query.id, document_word(key), grade);
  }

  Result<void> write() const {
    const std::filesystem::path folder = options_.output;
    std::error_code error;
    std::filesystem::create_directories(folder / "runs", error);
    if (error) return fail(Code::no_input, (folder / "runs").string() + ": " + error.message());
    for (const fusion::Feature& feature : features_of(domain_.domain)) {
      const auto found = runs_.find(feature.name);
      const bool is_empty = found == runs_.end() || found->second.empty();
      TRY_VOID(write_file((folder / "runs" / (feature.name + ".run")).string(),
                          is_empty ? "# nothing was found\n" : found->second));
    }
    TRY_VOID(write_file((folder / "qrels").string(), qrels_));
    std::string urls;
    for (const auto& [key, url] : urls_) urls += key + "\t" + url + "\n";
    return write_file((folder / "urls.tsv").string(), urls);
  }

 private:
  const RecordOptions& options_;
  const LoadedDomain& domain_;
  std::map<std::string, std::string> runs_;
  std::map<std::string, std::string> urls_;
  std::string qrels_;
};

Result<void> check_same_templates(const std::map<std::string, RecordedQuery>& known,
                                  const LoadedDomain& domain, const std::string& journal) {
  std::set<std::string> wanted;
  for (const fusion::Feature& feature : features_of(domain.domain)) wanted.insert(feature.name);
  for (const auto& [id, recorded] : known)
    for (const auto& [feature, keys] : recorded.keys)
      if (!wanted.contains(feature))
        return fail(Code::bad_data, journal + ": was recorded with " + feature +
                                        ", which the domain does not have; use another output folder");
  return {};
}

Result<std::vector<FetchedList>> fetched_lists(const Snapshot& snapshot, const LoadedDomain& domain,
                                               const JudgedBaseQuery& query, const Clock& clock,
                                               Duration wait) {
  SearchRequest request;
  request.domain = domain.domain.name;
  request.slots = query.slots;
  request.asks_all = true;
  auto prepared = prepare_search(snapshot, domain, request, clock);
  if (!prepared) return fail(prepared.error().code, "base query " + query.id + ": " + prepared.error().text);
  prepared->end = clock.now() + wait;
  return search_prepared(*prepared, clock).lists;
}

}  // namespace

Result<RecordReport> record_lists(const Snapshot& snapshot, const std::vector<JudgedBaseQuery>& queries,
                                  const RecordOptions& options, const Clock& clock) {
  const LoadedDomain* domain = snapshot.find_domain(options.domain);
  if (domain == nullptr)
    return fail(Code::usage, "no domain \"" + options.domain + "\" in the configuration");
  const std::string journal_path = (std::filesystem::path(options.output) / "lists.jsonl").string();
  TRY(auto known, read_journal(journal_path));
  TRY_VOID(check_same_templates(known, *domain, journal_path));
  std::ofstream journal(journal_path, std::ios::app | std::ios::binary);
  if (!journal) return fail(Code::no_input, journal_path + ": cannot be written");
  journal << '\n';  // ends a line that an earlier run left incomplete
  RecordReport report;
  report.queries = queries.size();
  const auto wait =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.query_seconds));
  Files files(options, *domain);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const JudgedBaseQuery& query = queries[i];
    const auto found = known.find(query.id);
    if (found != known.end() && found->second.is_complete) {
      ++report.resumed;
      files.add(query, found->second, report);
    } else {
      TRY(const auto lists, fetched_lists(snapshot, *domain, query, clock, wait));
      const RecordedQuery recorded = recorded_lists(query.id, lists, report);
      journal << journal_line(recorded) << '\n' << std::flush;
      if (!journal) return fail(Code::try_again, journal_path + ": cannot be written; is the disk full?");
      files.add(query, recorded, report);
    }
    if (options.progress) options.progress(i + 1, queries.size());
  }
  TRY_VOID(files.write());
  return report;
}

}  // namespace metafuse::service
