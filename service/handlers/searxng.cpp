#include <algorithm>

#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/base/process.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/searcher.h"

namespace metafuse::service {
namespace {

/// The domains whose templates ask an engine: what `categories` may say to search with it.
JsonArray domains_of(const Snapshot& snapshot, const std::string& engine) {
  JsonArray out;
  for (const auto& [name, domain] : snapshot.domains)
    for (const templates::SearchTemplate& item : domain.domain.templates)
      if (std::find(item.engines.begin(), item.engines.end(), engine) != item.engines.end()) {
        out.emplace_back(name);
        break;
      }
  return out;
}

JsonObject engine_json(const Snapshot& snapshot, const std::string& name) {
  const auto at = snapshot.engines.traits.find(name);
  EngineTraits traits;
  if (at != snapshot.engines.traits.end()) traits = at->second;
  return {{"name", name},
          {"categories", domains_of(snapshot, name)},
          {"shortcut", traits.shortcut},
          {"enabled", true},
          {"paging", traits.has_paging},
          {"language_support", traits.has_language},
          {"languages", JsonArray{}},
          {"regions", JsonArray{}},
          {"safesearch", traits.has_safe_search},
          {"time_range_support", traits.has_time_range},
          {"timeout", traits.timeout_seconds}};
}

}  // namespace

HttpResponse handle_searxng_config(const Exchange& exchange) {
  JsonArray categories;
  JsonArray engines;
  for (const auto& [name, domain] : exchange.snapshot->domains) categories.emplace_back(name);
  for (const std::string& name : exchange.snapshot->engines.names)
    engines.push_back(engine_json(*exchange.snapshot, name));
  JsonObject out;
  out["categories"] = std::move(categories);
  out["engines"] = std::move(engines);
  out["plugins"] = JsonArray{};
  out["instance_name"] = "metafuse";
  out["locales"] = JsonObject{{"en", "English"}};
  out["default_locale"] = "en";
  out["autocomplete"] = "";
  out["safe_search"] = 0;
  out["default_theme"] = "simple";
  out["version"] = version();
  out["brand"] = JsonObject{};
  out["limiter"] = JsonObject{{"enabled", false}};
  out["doi_resolvers"] = JsonArray{};
  out["default_doi_resolver"] = nullptr;
  out["public_instance"] = false;
  return make_response(200, "application/json", to_text(out));
}

HttpResponse handle_autocompleter(Searcher& searcher, const Exchange& exchange) {
  const std::string q(exchange.request.parameter("q").value_or(""));
  JsonArray completions;
  if (!q.empty())
    for (const std::string& text : searcher.suggest(q)) completions.emplace_back(text);
  // browsers ask for OpenSearch's form, SearXNG's own script for the list alone
  if (equal_ignoring_case(exchange.request.header("X-Requested-With"), "XMLHttpRequest"))
    return make_response(200, "application/json", to_text(completions));
  return make_response(200, "application/x-suggestions+json", to_text(JsonArray{q, completions}));
}

HttpResponse handle_opensearch(const Exchange& exchange) {
  const std::string url = xml_escape(exchange.origin());
  const std::string body =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n"
      "<ShortName>metafuse</ShortName>\n<Description>Fused search over several engines</Description>\n"
      "<InputEncoding>UTF-8</InputEncoding>\n<Image type=\"image/svg+xml\">" +
      url +
      "/static/icon.svg</Image>\n"
      "<Url type=\"text/html\" method=\"get\" template=\"" +
      url +
      "/search?q={searchTerms}&amp;pageno={startPage?}\"/>\n"
      "<Url type=\"application/rss+xml\" method=\"get\" template=\"" +
      url +
      "/search?q={searchTerms}&amp;format=rss&amp;pageno={startPage?}\"/>\n"
      "<Url type=\"application/x-suggestions+json\" rel=\"suggestions\" method=\"get\" template=\"" +
      url +
      "/suggest?q={searchTerms}\"/>\n<Url type=\"application/opensearchdescription+xml\" rel=\"self\" "
      "template=\"" +
      url + "/opensearch.xml\"/>\n</OpenSearchDescription>\n";
  return make_response(200, "application/opensearchdescription+xml; charset=utf-8", body);
}

}  // namespace metafuse::service
