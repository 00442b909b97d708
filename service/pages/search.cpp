#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/contract.h"
#include "core/encoding.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/api/searxng.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/pages/errors.h"
#include "service/pages/handlers.h"
#include "service/pages/page.h"
#include "service/pages/result_filters.h"
#include "service/pages/results_page.h"
#include "service/search/picture_reader.h"
#include "service/search/search_requests.h"
#include "templates/typed_query.h"

// GET and POST /search: the results page, and the same search in SearXNG's formats. Tavily's requests are
// passed on.

namespace metafuse::service {
namespace {

/// The dialect in which errors are answered: a page if HTML was requested, else SearXNG's JSON.
Dialect dialect_for(const Fields& fields) {
  for (const auto& [name, value] : fields)
    if (name == "format" && value != "html") return Dialect::searxng;
  return Dialect::page;
}

HttpResponse json_answer(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page) {
  return make_response(200, "application/json",
                       searxng_json(*exchange.snapshot, answer, *page.shown, *page.parameters));
}

HttpResponse csv_answer(const Exchange&, const SearchAnswer& answer, const PageRequest& page) {
  HttpResponse response = make_response(200, "text/csv; charset=utf-8", searxng_csv(answer, *page.shown));
  response.set("Content-Disposition", "attachment; filename=\"search.csv\"");
  return response;
}

HttpResponse rss_answer(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page) {
  const std::string self = exchange.origin() + SearchLinks(*page.fields).here();
  return make_response(200, "application/rss+xml; charset=utf-8",
                       searxng_rss(answer, *page.shown, *page.parameters, self));
}

HttpResponse html_answer(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page) {
  return html_response(results_page(exchange, answer, page));
}

/// What writes an answer in each format.
constexpr struct {
  Format format;
  HttpResponse (*write)(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page);
} kFormats[] = {{Format::html, html_answer},
                {Format::json, json_answer},
                {Format::csv, csv_answer},
                {Format::rss, rss_answer}};

HttpResponse render(const Exchange& exchange, const SearchAnswer& answer, const PageRequest& page) {
  const auto* const at = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& known) {
    return known.format == page.parameters->format;
  });
  require(at != std::end(kFormats), "every format has a row");
  return at->write(exchange, answer, page);
}

/// The request's fields, completed by the reader's preferences.
Fields with_preferences(Fields fields, const Preferences& preferences) {
  const auto prefer = [&](std::string_view name, const std::string& value) {
    if (!value.empty() && form_value(fields, name).empty()) fields.emplace_back(name, value);
  };
  prefer("language", preferences.language);
  if (preferences.safe_search > 0) prefer("safesearch", std::to_string(preferences.safe_search));
  if (preferences.results > 0) prefer("limit", std::to_string(preferences.results));
  return fields;
}

/// The fields with others in the place of those of the same name.
Fields with_fields(Fields fields, const Fields& others) {
  for (const auto& [name, value] : others) {
    std::erase_if(fields, [&](const auto& field) { return field.first == name; });
    fields.emplace_back(name, value);
  }
  return fields;
}

/// What answers a search besides its exchange.
struct PageTools {
  Finder& finder;
  const PictureReader& pictures;
  Reply* reply = nullptr;  ///< to begin a page before all lists are there; nullptr: never
};

/// Whether a page may begin with the first lists: the reader's browser completes it, and some list comes from
/// elsewhere, so that there is something to wait for.
bool may_begin_early(const Exchange& exchange, const SearchParameters& parameters) {
  const LoadedDomain* domain = exchange.find_domain(parameters.search.domain);
  if (domain == nullptr || exchange.request.method != "GET" || parameters.format != Format::html ||
      !exchange.preferences.completes_pages)
    return false;
  const auto& traits = exchange.snapshot->engines.traits;
  const auto is_elsewhere = [&](const std::string& engine) {
    const auto known = traits.find(engine);
    return known == traits.end() || !known->second.is_embedded;
  };
  const auto& templates = domain->domain.templates;
  return std::any_of(templates.begin(), templates.end(), [&](const templates::SearchTemplate& one) {
    return std::any_of(one.engines.begin(), one.engines.end(), is_elsewhere);
  });
}

/// A page to which more will be added.
std::string page_without_end(const std::string& page) {
  return page.substr(0, page.rfind("</body>"));
}

/// What completes such a page: the content of the whole page, which the script joins with what is being read.
std::string completion_of(const std::string& page) {
  const std::size_t begin = page.find('>', page.find("<main")) + 1;
  return "<template id=\"whole\">" + page.substr(begin, page.find("</main>", begin) - begin) +
         "</template></body></html>\n";
}

/// Sends the beginning of a page when half of the lists have arrived.
SearchEvents early_page(const PageTools& tools, const Exchange& exchange, const PageRequest& page) {
  SearchEvents events;
  events.on_partial = [&tools, &exchange, page](const SearchAnswer& so_far, std::size_t, std::size_t) {
    if (tools.reply->has_begun() || so_far.results.size() == so_far.hidden) return;
    const ShownResults shown = shown_results(so_far, page.parameters->search.page, page.parameters->limit,
                                             exchange.preferences.sites);
    PageRequest early = page;
    early.shown = &shown;
    early.is_partial = true;
    tools.reply->begin(make_response(200, "text/html; charset=utf-8", ""));
    tools.reply->write(page_without_end(results_page(exchange, so_far, early)));
  };
  return events;
}

HttpResponse search_fields(const PageTools& tools, const Exchange& exchange, const Fields& fields) {
  const Dialect dialect = dialect_for(fields);
  if (!has_known_format(fields))
    return error_response(Dialect::searxng, 403, "no such format; send html, json, csv or rss");
  // for programs a cookie changes nothing
  const auto parameters =
      read_parameters(dialect == Dialect::page ? with_preferences(fields, exchange.preferences) : fields,
                      *exchange.snapshot, exchange.key);
  if (!parameters) return error_response(dialect, 400, parameters.error().text, &exchange);
  const bool is_by_rrf = parameters->is_by_rrf;
  const std::optional<Exchange> plain = is_by_rrf ? std::optional(exchange.without_models()) : std::nullopt;
  const Exchange& asked = plain ? *plain : exchange;
  // a search that only compares two rankings must not be learned from, so it is not stored
  const Fields linked = with_fields(fields, parameters->instead_of_marks);
  const std::string typed = parameters->instead_of_marks.empty() ? "" : form_value(fields, "q");
  PageRequest page{&*parameters, nullptr, &linked, typed, tools.finder.unix_time()};
  page.pictures = tools.pictures.links();
  page.files = {page.pictures.secret, exchange.snapshot->config.files};
  SearchEvents events;
  if (tools.reply != nullptr && may_begin_early(exchange, *parameters))
    events = early_page(tools, asked, page);
  const auto found = tools.finder.find(asked,
                                       {parameters->search, parameters->limit, exchange.preferences.sites,
                                        correction_for(parameters->is_verbatim), !is_by_rrf},
                                       events);
  if (!found) return refusal_response(dialect, found.error(), &exchange);
  page.shown = &found->shown;
  HttpResponse whole = found->response(render(asked, *found->answer, page));
  if (tools.reply == nullptr || !tools.reply->has_begun()) return whole;
  tools.reply->write(completion_of(whole.body));
  return HttpResponse();
}

/// Whether a page is asked for without anything to search for, as by Enter in an empty box.
bool is_without_query(const Fields& fields) {
  return dialect_for(fields) == Dialect::page &&
         std::none_of(fields.begin(), fields.end(), [](const auto& field) {
           return (field.first == "q" || field.first.starts_with("slot.")) && !trimmed(field.second).empty();
         });
}

/// Whether a page's query holds nothing to search for, such as -word alone. What fills other slots has a form
/// that the page of the error keeps.
bool is_without_words(const Fields& fields) {
  const auto fills_slot = [](const auto& field) {
    return field.first.starts_with("slot.") && !field.second.empty();
  };
  if (std::any_of(fields.begin(), fields.end(), fills_slot)) return false;
  const std::string query = form_value(fields, "q");
  return dialect_for(fields) == Dialect::page && !query.empty() &&
         query.size() <= templates::kMaxTypedBytes && templates::parse_typed_query(query).terms.empty();
}

/// The page for such a query. The box keeps what was typed.
HttpResponse unsearchable(const Exchange& exchange, const Fields& fields) {
  View view =
      page_view(&exchange, form_value(fields, "q"), form_value(fields, "q"), form_value(fields, "domain"));
  return html_response(render_page("unsearchable", view), 400);
}

}  // namespace

HttpResponse handle_search(Finder& finder, PictureReader& pictures, Reply& reply, const Exchange& exchange) {
  const Fields& fields = exchange.request.query;
  if (is_without_query(fields)) {
    HttpResponse response;
    response.status = 303;
    const std::string domain = form_value(fields, "domain");
    response.set("Location", domain.empty() ? "/" : "/?domain=" + percent_encoded(domain));
    return response;
  }
  HttpResponse response = search_fields({finder, pictures, &reply}, exchange, fields);
  return response.status == 400 && is_without_words(fields) ? unsearchable(exchange, fields) : response;
}

Answered handle_post_search(Finder& finder, PictureReader& pictures, const Clock& clock,
                            const Exchange& exchange) {
  // LangChain's SearXNG client sends an empty body and puts its parameters into the target
  if (exchange.request.body.empty() && !exchange.request.query.empty())
    return search_fields({finder, pictures}, exchange, exchange.request.query);
  if (dialect_of(exchange.request) == Dialect::tavily) return tavily_search(finder, clock, exchange);
  return search_fields({finder, pictures}, exchange, exchange.form);
}

}  // namespace metafuse::service
