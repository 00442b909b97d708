#include "service/learning/curation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_members.h"
#include "core/text.h"
#include "core/url.h"
#include "service/store/stored_search.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostCuratedQueries = 10000;
constexpr std::size_t kMostOfQuery = 100;  ///< results per list of one query
constexpr std::size_t kMostGroups = 2000;
constexpr std::size_t kMostOfGroup = 20;
constexpr std::size_t kMostTextBytes = 2048;

template <class... Parts>
Error wrong(fmt::format_string<Parts...> text, Parts&&... parts) {
  return fail(Code::bad_data, fmt::format(text, std::forward<Parts>(parts)...));
}

Result<std::string> short_text(const Json* value, const std::string& where) {
  if (value == nullptr) return std::string();
  const auto* text = value->if_string();
  if (text == nullptr || text->size() > kMostTextBytes)
    return wrong("{}: must be a text of at most {} bytes", where, kMostTextBytes);
  return std::string(*text);
}

Result<void> refuse_others(const JsonObject& object, std::initializer_list<std::string_view> known,
                           const std::string& where) {
  for (const auto& [name, value] : object)
    if (std::find(known.begin(), known.end(), std::string_view(name)) == known.end())
      return wrong("{}: unknown member \"{}\"{}", where, std::string_view(name),
                   did_you_mean(name, {known.begin(), known.end()}));
  return {};
}

/// Reads a result: its URL, or an object with it.
Result<CuratedResult> read_result(const Json& json, bool has_text, const std::string& where,
                                  const TrackingParameters& tracking) {
  CuratedResult result;
  if (const auto* url = json.if_string()) result.url = std::string(*url);
  if (const JsonObject* object = json.if_object(); object != nullptr && has_text) {
    TRY_VOID(refuse_others(*object, {"url", "title", "snippet"}, where));
    TRY(result.url, short_text(object->if_contains("url"), where + ": url"));
    TRY(result.title, short_text(object->if_contains("title"), where + ": title"));
    TRY(result.snippet, short_text(object->if_contains("snippet"), where + ": snippet"));
  }
  auto key = canonical_url_key(result.url, tracking);
  if (result.url.empty() || result.url.size() > kMostTextBytes || !key)
    return wrong("{}: give the result's URL{}", where, has_text ? ", title and snippet" : "");
  const bool is_web = result.url.starts_with("http://") || result.url.starts_with("https://");
  if (has_text && !is_web) return wrong("{}: an added result needs an http or https URL", where);
  result.key = std::move(*key);
  return result;
}

Result<std::vector<CuratedResult>> read_result_list(const JsonObject& query, const char* name,
                                                    const std::string& where,
                                                    const TrackingParameters& tracking) {
  std::vector<CuratedResult> out;
  const Json* value = query.if_contains(name);
  if (value == nullptr) return out;
  const JsonArray* array = value->if_array();
  if (array == nullptr || array->size() > kMostOfQuery)
    return wrong("{}: {} must be a list of at most {} results", where, name, kMostOfQuery);
  for (const Json& item : *array) {
    TRY(auto result, read_result(item, std::string_view(name) == "added", where + ": " + name, tracking));
    out.push_back(std::move(result));
  }
  return out;
}

Result<CuratedQuery> read_query(const Json& json, std::size_t number, const TrackingParameters& tracking) {
  std::string where = fmt::format("query {}", number);
  const JsonObject* object = json.if_object();
  if (object == nullptr) return wrong("{}: must be an object", where);
  CuratedQuery query;
  TRY(query.query, short_text(object->if_contains("query"), where));
  if (folded_query(query.query).empty()) return wrong("{}: \"query\" is missing", where);
  where = '"' + query.query + '"';
  TRY_VOID(refuse_others(*object, {"query", "pinned", "added", "hidden"}, where));
  TRY(query.pinned, read_result_list(*object, "pinned", where, tracking));
  TRY(query.added, read_result_list(*object, "added", where, tracking));
  TRY(query.hidden, read_result_list(*object, "hidden", where, tracking));
  return query;
}

Result<std::vector<std::string>> read_group(const Json& json, std::size_t number) {
  const JsonArray* array = json.if_array();
  if (array == nullptr || array->size() < 2 || array->size() > kMostOfGroup)
    return wrong("synonyms {}: must be a list of 2 to {} words or phrases", number, kMostOfGroup);
  std::vector<std::string> group;
  for (const Json& item : *array) {
    TRY(const auto text, short_text(&item, fmt::format("synonyms {}", number)));
    group.push_back(folded_query(text));
    if (group.back().empty()) return wrong("synonyms {}: a word is empty", number);
  }
  return group;
}

Result<const JsonArray*> list_of(const JsonMembers& members, std::string_view name, std::size_t most) {
  static const JsonArray kNone;
  if (members.find(name) == nullptr) return &kNone;
  const JsonArray* array = members.array(name);
  if (array == nullptr || array->size() > most)
    return wrong("\"{}\" must be a list of at most {} entries", name, most);
  return array;
}

JsonArray urls_json(const std::vector<CuratedResult>& results) {
  JsonArray out;
  for (const CuratedResult& result : results) out.emplace_back(result.url);
  return out;
}

JsonObject query_json(const CuratedQuery& query) {
  JsonObject out{{"query", query.query}};
  if (!query.pinned.empty()) out["pinned"] = urls_json(query.pinned);
  if (!query.hidden.empty()) out["hidden"] = urls_json(query.hidden);
  JsonArray added;
  for (const CuratedResult& result : query.added)
    added.push_back(JsonObject{{"url", result.url}, {"title", result.title}, {"snippet", result.snippet}});
  if (!added.empty()) out["added"] = std::move(added);
  return out;
}

}  // namespace

Result<Curation> parse_curation(std::string_view text, const TrackingParameters& tracking) {
  if (text.size() > kMaxCurationBytes) return wrong("the curation has more than {} bytes", kMaxCurationBytes);
  TRY(const auto json, parse_json(text, "curation"));
  const JsonMembers members(json);
  if (!members.is_object()) return wrong("the curation must be an object");
  TRY_VOID(refuse_others(json.get_object(), {"queries", "synonyms"}, "curation"));
  Curation out;
  std::set<std::string> seen;
  TRY(const JsonArray* queries, list_of(members, "queries", kMostCuratedQueries));
  for (const Json& item : *queries) {
    TRY(auto query, read_query(item, out.queries.size() + 1, tracking));
    if (!seen.insert(folded_query(query.query)).second) return wrong("\"{}\" occurs twice", query.query);
    out.queries.push_back(std::move(query));
  }
  TRY(const JsonArray* groups, list_of(members, "synonyms", kMostGroups));
  for (const Json& item : *groups) {
    TRY(auto group, read_group(item, out.synonyms.size() + 1));
    out.synonyms.push_back(std::move(group));
  }
  return out;
}

std::string curation_text(const Curation& curation) {
  JsonArray queries;
  for (const CuratedQuery& query : curation.queries) queries.emplace_back(query_json(query));
  JsonArray synonyms;
  for (const auto& group : curation.synonyms) synonyms.emplace_back(JsonArray(group.begin(), group.end()));
  return to_pretty_text(JsonObject{{"queries", std::move(queries)}, {"synonyms", std::move(synonyms)}});
}

std::vector<std::string> alternatives_of(const Synonyms& synonyms, std::string_view query) {
  std::vector<std::string> out;
  const std::string text = ' ' + folded_query(query) + ' ';
  for (const auto& group : synonyms)
    for (const std::string& phrase : group) {
      const std::size_t at = text.find(' ' + phrase + ' ');
      if (at == std::string::npos) continue;
      for (const std::string& other : group) {
        if (other == phrase || out.size() >= kMostAlternatives) continue;
        const std::string changed = text.substr(0, at + 1) + other + text.substr(at + 1 + phrase.size());
        out.push_back(folded_query(changed));
      }
      break;  // of each group one phrase is replaced
    }
  return out;
}

}  // namespace metafuse::service
