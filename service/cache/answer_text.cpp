#include "service/cache/answer_text.h"

#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/json.h"
#include "service/search/list_fusion.h"
#include "service/search/typed_conditions.h"

namespace metafuse::service {
namespace {

constexpr std::int64_t kVersion = 3;
constexpr std::size_t kHitFields = 8;

JsonArray hit_json(const Hit& hit) {
  return {hit.url,       hit.title, hit.snippet,  hit.published,
          hit.thumbnail, hit.key,   hit.language, hit.score ? Json(*hit.score) : Json()};
}

JsonObject list_json(const fetchers::FetchedList& list) {
  JsonArray hits;
  hits.reserve(list.list.hits.size());
  for (const Hit& hit : list.list.hits) hits.emplace_back(hit_json(hit));
  JsonArray suggestions;
  for (const std::string& text : list.list.suggestions) suggestions.emplace_back(text);
  return {{"template", list.query.template_id},
          {"engine", list.query.engine},
          {"text", list.query.text},
          {"suggestions", std::move(suggestions)},
          {"hits", std::move(hits)}};
}

Error damaged() {
  return fail(Code::bad_data, "the cached answer was not written by this program");
}

Result<Hit> read_hit(const Json& json) {
  if (!json.is_array() || json.get_array().size() != kHitFields) return damaged();
  const JsonArray& fields = json.get_array();
  Hit hit;
  std::size_t i = 0;
  for (std::string* text :
       {&hit.url, &hit.title, &hit.snippet, &hit.published, &hit.thumbnail, &hit.key, &hit.language}) {
    if (!fields[i].is_string()) return damaged();
    *text = std::string(fields[i++].get_string());
  }
  if (fields[i].is_number())
    hit.score = fields[i].to_number<double>();
  else if (!fields[i].is_null())
    return damaged();
  return hit;
}

Result<fetchers::FetchedList> read_list(const Json& json) {
  if (!json.is_object()) return damaged();
  const JsonObject& object = json.get_object();
  fetchers::FetchedList list;
  for (auto [name, text] : {std::pair{"template", &list.query.template_id},
                            std::pair{"engine", &list.query.engine}, std::pair{"text", &list.query.text}}) {
    const Json* value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return damaged();
    *text = std::string(value->get_string());
  }
  const Json* hits = object.if_contains("hits");
  const Json* suggestions = object.if_contains("suggestions");
  if (hits == nullptr || !hits->is_array() || suggestions == nullptr || !suggestions->is_array())
    return damaged();
  for (const Json& entry : hits->get_array()) {
    auto hit = read_hit(entry);
    if (hit.has_error()) return hit.error();
    list.list.hits.push_back(std::move(*hit));
  }
  for (const Json& entry : suggestions->get_array()) {
    if (!entry.is_string()) return damaged();
    list.list.suggestions.emplace_back(entry.get_string());
  }
  return list;
}

}  // namespace

std::string answer_text(const SearchAnswer& answer) {
  require(!answer.has_failures(), "only whole answers are shared");
  JsonArray lists;
  for (const fetchers::FetchedList& list : answer.lists) lists.emplace_back(list_json(list));
  return to_text(JsonObject{{"version", kVersion}, {"query", answer.query}, {"lists", std::move(lists)}});
}

Result<SearchAnswer> read_answer_text(std::string_view text, const LoadedDomain& domain,
                                      const SearchRequest& request) {
  const auto json = parse_json(text, "cached answer");
  if (json.has_error()) return json.error();
  if (!json->is_object()) return damaged();
  const JsonObject& object = json->get_object();
  const Json* version = object.if_contains("version");
  const Json* query = object.if_contains("query");
  const Json* lists = object.if_contains("lists");
  if (version == nullptr || *version != kVersion || query == nullptr || !query->is_string() ||
      lists == nullptr || !lists->is_array())
    return damaged();
  SearchAnswer answer;
  answer.domain = domain.domain.name;
  answer.query = std::string(query->get_string());
  answer.slots = request.slots;
  answer.typed = typed_query_of(domain, request);
  answer.windows = request.windows;
  std::vector<fetchers::FetchedList> read;
  for (const Json& entry : lists->get_array()) {
    auto list = read_list(entry);
    if (list.has_error()) return list.error();
    read.push_back(std::move(*list));
  }
  fuse_lists(domain, std::move(read), answer);
  return answer;
}

}  // namespace metafuse::service
