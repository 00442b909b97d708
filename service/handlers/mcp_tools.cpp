#include "service/handlers/mcp_tools.h"

#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/contract.h"
#include "service/answers/dialects.h"
#include "service/answers/reasons.h"
#include "service/requests/json_fields.h"

namespace metafuse::service::mcp {
namespace {

constexpr std::string_view kTools = R"json([
{"name":"web_search","title":"Fused web search",
 "description":"Searches several engines with the domain's search templates and fuses their results by a learned ranking. Give query, or slots as list_domains names them.",
 "inputSchema":{"type":"object","additionalProperties":false,"properties":{
  "query":{"type":"string","maxLength":4096,"description":"A plain query."},
  "slots":{"type":"object","additionalProperties":{"type":"string"},"description":"Values for the domain's slots, instead of query."},
  "domain":{"type":"string","description":"A name from list_domains; the default domain without it."},
  "limit":{"type":"integer","minimum":1,"maximum":200,"default":10},
  "explain":{"type":"boolean","default":false,"description":"Also say which template ranked each result where, and what weight that earned."}}},
 "outputSchema":{"type":"object","required":["query","results","total","fusion"],"properties":{
  "query":{"type":"string"},"total":{"type":"integer"},"fusion":{"type":"object"},
  "results":{"type":"array","items":{"type":"object","required":["rank","url","title","snippet","relative_score"],
   "properties":{"rank":{"type":"integer"},"url":{"type":"string"},"title":{"type":"string"},"snippet":{"type":"string"},
    "relative_score":{"type":"number","minimum":0,"maximum":1}}}}}},
 "annotations":{"readOnlyHint":true,"openWorldHint":true}},
{"name":"list_domains","title":"Search domains",
 "description":"The domains that can be searched, with their slots and how their results are fused.",
 "inputSchema":{"type":"object","additionalProperties":false,"properties":{}},
 "outputSchema":{"type":"object","required":["domains"],"properties":{"domains":{"type":"array","items":{"type":"object"}}}},
 "annotations":{"readOnlyHint":true,"openWorldHint":false}}
])json";

JsonObject text_result(std::string text, bool is_error) {
  JsonArray content;
  content.push_back(JsonObject{{"type", "text"}, {"text", std::move(text)}});
  JsonObject out;
  out["content"] = std::move(content);
  out["isError"] = is_error;
  return out;
}

struct SearchArguments {
  SearchRequest search;
  int limit = 10;
  bool is_explained = false;
};

Result<SearchArguments> read_arguments(const JsonObject& arguments) {
  JsonFields fields(arguments);
  SearchArguments out;
  out.search.text = fields.text("query").value_or("");
  out.search.domain = fields.text("domain", 64).value_or("");
  out.limit = fields.integer("limit", 1, 200).value_or(10);
  out.search.results = static_cast<std::size_t>(out.limit);
  out.is_explained = fields.flag("explain").value_or(false);
  if (const JsonObject* slots = fields.object("slots")) {
    JsonFields values(*slots);
    for (const auto& member : *slots)
      if (auto text = values.text(member.key())) out.search.slots.slots[std::string(member.key())] = *text;
    if (values.has_failed()) return values.error();
  }
  fields.refuse_others({"query", "domain", "slots", "limit", "explain"});
  if (out.search.text.empty() && out.search.slots.slots.empty()) fields.set_mistake("give query or slots");
  if (fields.has_failed()) return fields.error();
  return out;
}

std::string readable(const SearchAnswer& answer, const ShownResults& shown) {
  std::string out;
  std::size_t rank = shown.first;
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer.results[at];
    out += std::to_string(++rank) + ". " + result.hit.title + "\n   " + result.hit.url + '\n';
    if (!result.hit.snippet.empty()) out += "   " + result.hit.snippet + '\n';
  }
  if (out.empty()) out = "No engine found anything for this query.\n";
  for (const auto& list : answer.lists)
    if (list.has_failed()) out += "Missing: " + list.query.feature_name() + " (" + failure_text(list) + ")\n";
  return out;
}

JsonObject web_search(Searcher& searcher, const Exchange& exchange, const JsonObject& arguments,
                      std::optional<FoundSearch>& found) {
  const auto wanted = read_arguments(arguments);
  if (!wanted) return text_result(wanted.error().text, true);
  auto searched = searcher.find(exchange, {wanted->search, 0, wanted->limit});
  if (!searched) return text_result(searched.error().text, true);
  found = std::move(*searched);
  JsonObject out = text_result(readable(*found->answer, found->shown), false);
  out["structuredContent"] =
      native_json(*exchange.snapshot, *found->answer, found->shown, wanted->is_explained);
  return out;
}

JsonObject domain_json(const LoadedDomain& domain, bool is_default) {
  JsonArray slots;
  for (const templates::Slot& slot : domain.domain.slots)
    slots.push_back(
        JsonObject{{"name", slot.name}, {"required", slot.is_required}, {"description", slot.description}});
  JsonObject out;
  out["name"] = domain.domain.name;
  out["description"] = domain.domain.description;
  out["default"] = is_default;
  out["slots"] = std::move(slots);
  out["templates"] = domain.domain.templates.size();
  out["fusion"] = domain.model ? domain.model->learner : std::string("rrf");
  return out;
}

JsonObject list_domains(const Exchange& exchange) {
  JsonArray domains;
  std::string text;
  const LoadedDomain* chosen = exchange.snapshot->find_domain("");
  for (const auto& [name, domain] : exchange.snapshot->domains) {
    domains.push_back(domain_json(domain, &domain == chosen));
    text += name + ": " + domain.domain.description + "; slots";
    for (const templates::Slot& slot : domain.domain.slots)
      text += ' ' + slot.name + (slot.is_required ? "*" : "");
    text += '\n';
  }
  JsonObject out = text_result(std::move(text), false);
  out["structuredContent"] = JsonObject{{"domains", std::move(domains)}};
  return out;
}

}  // namespace

JsonArray tool_list() {
  auto tools = parse_json(kTools, "tools");
  require(tools.has_value() && tools->is_array(), "the table of tools is JSON");
  return tools->as_array();
}

std::optional<JsonObject> call_tool(Searcher& searcher, const Exchange& exchange, std::string_view name,
                                    const JsonObject& arguments, std::optional<FoundSearch>& found) {
  if (name == "web_search") return web_search(searcher, exchange, arguments, found);
  if (name == "list_domains") return list_domains(exchange);
  return std::nullopt;
}

}  // namespace metafuse::service::mcp
