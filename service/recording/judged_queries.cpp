#include "service/recording/recording.h"

#include <map>
#include <utility>

#include "core/json.h"
#include "core/text_file.h"
#include "core/url.h"

namespace metafuse::service {
namespace {

std::string text_in(const Json* value) {
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

Result<JudgedBaseQuery::Relevant> read_relevant(const Json& item, const std::string& place,
                                                const TrackingParameters& tracking) {
  const JsonObject* judgment = item.if_object();
  if (judgment == nullptr) return fail(Code::bad_data, place + ": a judgment must be {\"url\",\"grade\"}");
  JudgedBaseQuery::Relevant answer;
  answer.url = text_in(judgment->if_contains("url"));
  auto key = canonical_url_key(answer.url, tracking);
  if (!key) return fail(Code::bad_data, place + ": " + key.error().text);
  answer.key = std::move(*key);
  if (const Json* grade = judgment->if_contains("grade")) {
    if (!grade->is_int64() || grade->as_int64() < -1000 || grade->as_int64() > 1000)
      return fail(Code::bad_data, place + ": a grade must be a whole number");
    answer.grade = static_cast<int>(grade->as_int64());
  }
  return answer;
}

Result<JudgedBaseQuery> read_query(const Json& json, const std::string& place,
                                   const TrackingParameters& tracking) {
  const JsonObject* object = json.if_object();
  if (object == nullptr)
    return fail(Code::bad_data,
                place + ": no JSON object; write {\"id\",\"slots\":{...},\"relevant\":[...]}");
  JudgedBaseQuery query;
  query.id = text_in(object->if_contains("id"));
  if (const Json* id = object->if_contains("id"); id != nullptr && id->is_int64())
    query.id = std::to_string(id->as_int64());
  if (query.id.empty() || query.id.find_first_of(" \t\r\n") != std::string::npos)
    return fail(Code::bad_data, place + ": an id must be a text without blanks");
  const Json* slots = object->if_contains("slots");
  if (slots == nullptr || !slots->is_object())
    return fail(Code::bad_data,
                place + ": no \"slots\"; give the base query's values as {\"NAME\":\"value\"}");
  for (const auto& [name, value] : slots->as_object()) {
    if (!value.is_string())
      return fail(Code::bad_data,
                  place + ": the slot " + std::string(name) + " is no text; put its value in quotes");
    query.slots.slots.emplace(name, std::string(value.as_string()));
  }
  const Json* relevant = object->if_contains("relevant");
  if (relevant == nullptr) return query;
  if (!relevant->is_array())
    return fail(Code::bad_data, place + ": \"relevant\" is no list; write [{\"url\",\"grade\"}]");
  for (const Json& item : relevant->as_array()) {
    TRY(auto answer, read_relevant(item, place, tracking));
    query.relevant.push_back(std::move(answer));
  }
  return query;
}

}  // namespace

Result<std::vector<JudgedBaseQuery>> read_judged_queries(const std::string& path,
                                                         const TrackingParameters& tracking) {
  std::vector<JudgedBaseQuery> queries;
  std::map<std::string, std::size_t> lines;
  auto read = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    JsonLimits limits;
    limits.first_line = number;
    TRY(auto json, parse_json(line, path, Code::bad_data, limits));
    const std::string place = path + ":" + std::to_string(number);
    TRY(auto query, read_query(json, place, tracking));
    const auto [at, is_new] = lines.emplace(query.id, number);
    if (!is_new)
      return fail(Code::bad_data, place + ": the id " + query.id + " stands in line " +
                                      std::to_string(at->second) + " already");
    queries.push_back(std::move(query));
    return {};
  });
  if (!read) return read.error();
  if (queries.empty())
    return fail(Code::bad_data,
                path + ": no base query; a line is {\"id\",\"slots\":{...},\"relevant\":[...]}");
  return queries;
}

}  // namespace metafuse::service
