#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/reasons.h"
#include "service/search/relevance_cut.h"
#include "service/search/result_conditions.h"
#include "service/search/search_requests.h"

// POST /retrieval: Dify's external knowledge. A domain is a knowledge base, a result is a record.

namespace metafuse::service {
namespace {

constexpr int kMostRecords = 100;
constexpr std::size_t kMostMetadataConditions = 20;

/// A comparison of a record's metadata with the value of a condition.
struct MetadataOperator {
  std::string_view name;
  bool (*holds)(std::string_view text, std::string_view value);
};
constexpr MetadataOperator kMetadataOperators[] = {
    {"contains", [](auto text, auto value) { return text.find(value) != text.npos; }},
    {"not contains", [](auto text, auto value) { return text.find(value) == text.npos; }},
    {"start with", [](auto text, auto value) { return text.starts_with(value); }},
    {"end with", [](auto text, auto value) { return text.ends_with(value); }},
    {"is", [](auto text, auto value) { return text == value; }},
    {"is not", [](auto text, auto value) { return text != value; }},
    {"in", [](auto text, auto value) { return text == value; }},
    {"not in", [](auto text, auto value) { return text != value; }},
    {"empty", [](auto text, auto) { return text.empty(); }},
    {"not empty", [](auto text, auto) { return !text.empty(); }},
    {"before", [](auto text, auto value) { return !text.empty() && text < value; }},
    {"after", [](auto text, auto value) { return text > value; }},
};

std::string engines_text(const SearchAnswer& answer, const FusedResult& result) {
  std::string out;
  for (const std::string_view engine : engines_of(answer, result))
    out += (out.empty() ? "" : ", ") + std::string(engine);
  return out;
}

/// What a record says about its result.
struct MetadataMember {
  std::string_view name;
  std::string (*value_of)(const SearchAnswer& answer, const FusedResult& result);
};
constexpr MetadataMember kMetadata[] = {
    {"url", [](const auto&, const auto& result) { return result.hit.url; }},
    {"title", [](const auto&, const auto& result) { return result.hit.title; }},
    {"published", [](const auto&, const auto& result) { return result.hit.published; }},
    {"language", [](const auto&, const auto& result) { return result.hit.language; }},
    {"engines", engines_text},
};

bool is_metadata(std::string_view name) {
  return std::ranges::find(kMetadata, name, &MetadataMember::name) != std::end(kMetadata);
}

std::string metadata_names() {
  std::string out;
  for (const MetadataMember& one : kMetadata) out += (out.empty() ? "" : ", ") + std::string(one.name);
  return out;
}

struct MetadataCondition {
  std::vector<std::string> names;
  const MetadataOperator* comparison = nullptr;
  std::vector<std::string> values;  ///< in lower case; one unless the operator takes several
};

struct DifyRetrieval {
  SearchRequest search;
  int top_k = 5;
  ResultConditions conditions;
  std::vector<MetadataCondition> metadata;
  bool any_suffices = false;  ///< one of the metadata's conditions is enough
};

std::vector<std::string> texts_or_text(JsonFields& fields, const JsonObject& object, std::string_view name) {
  const Json* value = object.if_contains(name);
  std::vector<std::string> out;
  if (value != nullptr && value->is_array())
    out = fields.texts(name, kMostMetadataConditions, JsonFields::kUsualBytes);
  else if (auto text = fields.text(name))
    out.push_back(std::move(*text));
  return out;
}

MetadataCondition read_condition(JsonFields& outer, const Json& item) {
  MetadataCondition out;
  if (!item.is_object()) {
    outer.set_mistake("metadata_condition: each condition is an object");
    return out;
  }
  JsonFields fields(item.get_object());
  out.names = texts_or_text(fields, item.get_object(), "name");
  out.values = texts_or_text(fields, item.get_object(), "value");
  for (std::string& value : out.values) value = ascii_lower(value);
  if (!out.names.empty() && std::ranges::none_of(out.names, is_metadata))
    fields.set_mistake(
        fmt::format("no metadata is named \"{}\"; there are {}", out.names.front(), metadata_names()));
  const std::string name = fields.text("comparison_operator").value_or("");
  for (const MetadataOperator& one : kMetadataOperators)
    if (one.name == name) out.comparison = &one;
  if (out.comparison == nullptr)
    fields.set_mistake("the comparison_operator \"" + name + "\" does not compare texts");
  if (out.values.empty()) {
    if (!name.ends_with("empty")) fields.set_mistake("a condition has no value");
    out.values.emplace_back();
  }
  if (fields.has_failed()) outer.set_mistake("metadata_condition: " + fields.error().text);
  return out;
}

void read_metadata(JsonFields& fields, DifyRetrieval& out) {
  const JsonObject* metadata = fields.object("metadata_condition");
  if (metadata == nullptr) return;
  JsonFields members(*metadata);
  const std::string joined_by = members.text("logical_operator", 10).value_or("and");
  if (joined_by != "and" && joined_by != "or") members.set_mistake("logical_operator must be and or or");
  out.any_suffices = joined_by == "or";
  if (const JsonArray* conditions = members.array("conditions")) {
    if (conditions->size() > kMostMetadataConditions)
      members.set_mistake("more than 20 conditions");
    else
      for (const Json& item : *conditions) out.metadata.push_back(read_condition(members, item));
  }
  if (members.has_failed()) fields.set_mistake(members.error().text);
}

Result<DifyRetrieval> read_retrieval(const JsonObject& body) {
  JsonFields fields(body);
  DifyRetrieval out;
  out.search.domain = fields.text("knowledge_id", 64).value_or("");
  out.search.text = fields.text("query").value_or("");
  if (out.search.text.empty()) fields.set_mistake("query is missing");
  if (const JsonObject* setting = fields.object("retrieval_setting")) {
    JsonFields settings(*setting);
    out.top_k = settings.integer("top_k", 1, kMostRecords).value_or(5);
    out.conditions.least_score = settings.number("score_threshold", 0, 1).value_or(0);
    if (settings.has_failed()) fields.set_mistake("retrieval_setting: " + settings.error().text);
  }
  out.search.results = static_cast<std::size_t>(out.top_k);
  read_metadata(fields, out);
  if (fields.has_failed()) return fields.error();
  return out;
}

/// The metadata of a record; texts, never null.
JsonObject metadata_of(const SearchAnswer& answer, const FusedResult& result) {
  JsonObject out;
  for (const MetadataMember& one : kMetadata) out[one.name] = one.value_of(answer, result);
  return out;
}

bool holds(const MetadataCondition& condition, const JsonObject& metadata) {
  const bool is_negative =
      condition.comparison->name.starts_with("not ") || condition.comparison->name == "is not";
  const auto holds_for = [&](const std::string& name) {
    const Json* value = metadata.if_contains(name);
    const std::string text = value == nullptr ? std::string() : ascii_lower(std::string(value->as_string()));
    const auto compares = [&](const std::string& wanted) {
      return condition.comparison->holds(text, wanted);
    };
    return is_negative ? std::all_of(condition.values.begin(), condition.values.end(), compares)
                       : std::any_of(condition.values.begin(), condition.values.end(), compares);
  };
  return std::any_of(condition.names.begin(), condition.names.end(), holds_for);
}

bool meets(const DifyRetrieval& wanted, const JsonObject& metadata) {
  const auto is_met = [&](const MetadataCondition& condition) { return holds(condition, metadata); };
  if (wanted.metadata.empty()) return true;
  return wanted.any_suffices ? std::any_of(wanted.metadata.begin(), wanted.metadata.end(), is_met)
                             : std::all_of(wanted.metadata.begin(), wanted.metadata.end(), is_met);
}

}  // namespace

Answered handle_dify_retrieval(Finder& finder, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_retrieval(body));
  const std::string& domain = wanted.search.domain;
  const bool may_know = exchange.key == nullptr || exchange.key->may_use_domain(domain);
  if (!domain.empty() && may_know && exchange.find_domain(domain) == nullptr)
    return refusal(404,
                   "the knowledge \"" + domain + "\" does not exist; knowledge_id is the name of a domain");
  TRY(const auto found, finder.find(exchange, {wanted.search}));
  JsonArray records;
  const auto positions = wanted_positions(*found.answer, wanted.conditions, finder.unix_time());
  const auto scores = unit_scores(*found.answer, positions);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (records.size() >= static_cast<std::size_t>(wanted.top_k)) break;
    const FusedResult& result = found.answer->results[positions[i]];
    JsonObject metadata = metadata_of(*found.answer, result);
    if (!meets(wanted, metadata)) continue;
    JsonObject record{{"content", result.hit.snippet.empty() ? result.hit.title : result.hit.snippet},
                      {"score", scores[i]},
                      {"title", result.hit.title}};
    record["metadata"] = std::move(metadata);
    records.push_back(std::move(record));
  }
  JsonObject out;
  out["records"] = std::move(records);
  return found.response(json_response(out));
}

}  // namespace metafuse::service
