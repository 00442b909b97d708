#include <chrono>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/json.h"
#include "service/access/gate.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/indexed_pages.h"
#include "service/search/search_requests.h"

// What Open WebUI asks of an external web search and of an external web loader. Both answer with a bare list.

namespace metafuse::service {
namespace {

constexpr int kMostOpenWebuiResults = 100;
constexpr std::chrono::seconds kLoaderTime{20};

HttpResponse list_response(const JsonArray& items) {
  return make_response(200, "application/json", to_text(items));
}

}  // namespace

Answered handle_openwebui_search(Finder& finder, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  JsonFields fields(body);
  WantedSearch wanted;
  read_queries(fields, body, wanted.search);
  wanted.limit = fields.integer("count", 1, kMostOpenWebuiResults).value_or(10);
  wanted.search.results = static_cast<std::size_t>(wanted.limit);
  wanted.search.domain = fields.text("domain", 64).value_or("");
  if (wanted.search.text.empty()) fields.set_mistake("query is missing");
  if (fields.has_failed()) return fields.error();
  TRY(const auto found, finder.find(exchange, wanted));
  JsonArray results;
  for (const std::size_t at : found.shown.positions) {
    const Hit& hit = found.answer->results[at].hit;
    results.push_back(JsonObject{{"link", hit.url}, {"title", hit.title}, {"snippet", hit.snippet}});
  }
  return found.response(list_response(results));
}

Answered handle_openwebui_extract(PageReader& pages, Gate& gate, const Exchange& exchange) {
  if (const auto access = check_page_access(exchange.snapshot->config.pages, exchange.key != nullptr);
      !access)
    return refusal(403, access.error().text);
  TRY(const auto body, json_body(exchange.request));
  JsonFields fields(body);
  const auto urls = fields.texts("urls", PageReader::kMostPages, PageReader::kMaxUrlBytes);
  if (urls.empty()) fields.set_mistake("urls is missing: give a list of 1 to 20 URLs");
  if (fields.has_failed()) return fields.error();
  if (auto refused = gate.admit_more(exchange, static_cast<double>(urls.size()) - 1))
    return std::move(*refused);
  const auto read = read_pages(pages, exchange, urls, fetchers::PageForm::markdown, kLoaderTime);
  JsonArray results;
  for (std::size_t i = 0; i < read.size(); ++i) {
    JsonObject metadata{{"source", read[i] ? (*read[i])->url : urls[i]}};
    if (!read[i])
      metadata["error"] = read[i].error().text;
    else if (!(*read[i])->title.empty())
      metadata["title"] = (*read[i])->title;
    results.push_back(JsonObject{{"page_content", read[i] ? (*read[i])->text : std::string()},
                                 {"metadata", std::move(metadata)}});
  }
  return list_response(results);
}

}  // namespace metafuse::service
