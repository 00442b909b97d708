#include "core/encoding.h"
#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/answers/page.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/tavily.h"
#include "service/http/head.h"
#include "service/requests/search_parameters.h"
#include "service/searcher.h"

namespace metafuse::service {
namespace {

/// The query string without pageno, for links to other pages of the same search.
std::string link_target(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (name == "pageno" || value.empty()) continue;
    out += (out.empty() ? "" : "&") + percent_encoded(name) + '=' + percent_encoded(value);
  }
  return out;
}

/// Errors of a request for a page are pages, others are SearXNG's JSON.
Dialect dialect_for(const Fields& fields) {
  for (const auto& [name, value] : fields)
    if (name == "format" && value != "html") return Dialect::searxng;
  return Dialect::page;
}

HttpResponse render(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page) {
  const Snapshot& snapshot = *exchange.snapshot;
  const SearchParameters& parameters = *page.parameters;
  switch (parameters.format) {
    case Format::json:
      return make_response(200, "application/json",
                           to_text(searxng_json(snapshot, answer, *page.shown, parameters)));
    case Format::csv: {
      auto response = make_response(200, "text/csv; charset=utf-8", searxng_csv(answer, *page.shown));
      response.set("Content-Disposition", "attachment; filename=\"search.csv\"");
      return response;
    }
    case Format::rss: {
      const std::string self = exchange.origin() + "/search?" + page.target;
      return make_response(200, "application/rss+xml; charset=utf-8",
                           searxng_rss(answer, *page.shown, parameters, self));
    }
    case Format::html:
      break;
  }
  return make_response(200, "text/html; charset=utf-8", results_page(snapshot, answer, page));
}

HttpResponse search_fields(Searcher& searcher, const Exchange& exchange, const Fields& fields) {
  const Dialect dialect = dialect_for(fields);
  if (!has_known_format(fields))
    return error_response(Dialect::searxng, 403, "no such format; send html, json, csv or rss");
  auto parameters = read_parameters(fields, *exchange.snapshot);
  if (!parameters) return error_response(dialect, 400, parameters.error().text);
  const SitePreferences preferences = read_site_cookie(exchange.request.header("Cookie"));
  return searcher.serve(exchange, dialect,
                        {parameters->search, parameters->first(), parameters->limit, preferences},
                        [&](FoundSearch& found) {
                          return render(exchange, *found.answer,
                                        {&*parameters, &found.shown, &preferences, link_target(fields)});
                        });
}

}  // namespace

HttpResponse handle_search(Searcher& searcher, const Exchange& exchange) {
  if (exchange.request.query.empty()) {
    HttpResponse response;
    response.status = 303;
    response.set("Location", "/");
    return response;
  }
  return search_fields(searcher, exchange, exchange.request.query);
}

HttpResponse handle_post_search(Searcher& searcher, const Exchange& exchange) {
  // LangChain's SearXNG client posts nothing and puts its parameters into the target
  if (exchange.request.body.empty() && !exchange.request.query.empty())
    return search_fields(searcher, exchange, exchange.request.query);
  if (dialect_of(exchange.request) == Dialect::tavily) return tavily_search(searcher, exchange);
  return search_fields(searcher, exchange, exchange.form);
}

}  // namespace metafuse::service
