#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "core/encoding.h"
#include "core/json.h"
#include "core/text.h"
#include "service/api/dialects.h"
#include "service/base/addresses.h"
#include "service/base/dates.h"
#include "service/base/process.h"
#include "service/errors.h"
#include "service/handlers.h"
#include "service/http/head.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/pages/page.h"
#include "service/pages/preferences.h"
#include "service/pages/result_filters.h"
#include "service/pages/results_page.h"
#include "service/search/picture_reader.h"
#include "service/search/reasons.h"
#include "service/search/search_requests.h"
#include "service/search/shown_results.h"
#include "service/searcher.h"

// /search in all of its dialects (the results page; SearXNG's JSON, CSV and RSS; Tavily's JSON), and what
// SearXNG's clients and browsers request beside it: /config, /autocompleter, /suggest and /opensearch.xml.

namespace metafuse::service {
namespace {

/// What a Tavily client asks for. What this server cannot provide is null in the answer, never invented.
struct TavilySearch {
  SearchRequest search;
  int max_results = 5;
  std::vector<std::string> include_domains;
  std::vector<std::string> exclude_domains;
  std::string start_date;
  std::string end_date;
  int days = 0;  ///< maximum age of results that have a date; 0 for any age
  bool wants_favicon = false;
  std::string exact_phrase;
};

void check_word(JsonFields& fields, std::string_view name, std::initializer_list<std::string_view> words) {
  const auto text = fields.text(name, 100);
  if (!text || std::find(words.begin(), words.end(), *text) != words.end()) return;
  fields.set_mistake("Invalid " + std::string(name) + ": \"" + *text + "\"");
}

void read_time(JsonFields& fields, TavilySearch& out) {
  constexpr std::string_view kRanges[] = {"day", "week", "month", "year"};
  if (const auto wanted = fields.text("time_range", 10)) {
    for (const std::string_view range : kRanges)
      if (range == *wanted || range.substr(0, 1) == *wanted) out.search.time_range = range;
    out.days = days_of_time_range(out.search.time_range);
    if (out.days == 0) fields.set_mistake("Invalid time_range: \"" + *wanted + "\"");
  }
  if (const int days = fields.integer("days", 0, 36500).value_or(0); days > 0 && out.days == 0) {
    out.days = days;
    for (const std::string_view range : kRanges)
      if (out.search.time_range.empty() && days <= days_of_time_range(range)) out.search.time_range = range;
  }
  for (auto [name, into] : {std::pair{"start_date", &out.start_date}, std::pair{"end_date", &out.end_date}}) {
    *into = fields.text(name, 10).value_or("");
    if (!into->empty() && (into->size() != 10 || !moment_of(*into)))
      fields.set_mistake("Invalid " + std::string(name) + ": YYYY-MM-DD is expected");
  }
  if (!out.start_date.empty() && !out.end_date.empty() && out.end_date < out.start_date)
    fields.set_mistake("Invalid end_date: it is before start_date");
}

/// The first phrase in quotes, or else the whole query: what exact_match requires.
std::string quoted_phrase(const std::string& query) {
  const std::size_t begin = query.find('"');
  if (begin == std::string::npos) return query;
  const std::size_t end = query.find('"', begin + 1);
  return end == std::string::npos ? query : query.substr(begin + 1, end - begin - 1);
}

Result<TavilySearch> read_tavily(const JsonObject& body) {
  JsonFields fields(body);
  TavilySearch out;
  out.search.text = fields.text("query").value_or("");
  if (out.search.text.empty()) fields.set_mistake("Query is missing.");
  check_word(fields, "search_depth", {"basic", "advanced", "fast", "ultra-fast"});
  check_word(fields, "topic", {"general", "news", "finance"});
  if (const auto depth = fields.text("search_depth", 100); depth && depth->ends_with("fast"))
    out.search.deadline_seconds = 1;
  out.max_results = fields.integer("max_results", 0, 20).value_or(5);
  out.search.results = static_cast<std::size_t>(out.max_results);
  out.include_domains = fields.texts("include_domains");
  out.exclude_domains = fields.texts("exclude_domains");
  out.wants_favicon = fields.flag("include_favicon").value_or(false);
  if (fields.flag("exact_match").value_or(false)) out.exact_phrase = quoted_phrase(out.search.text);
  read_time(fields, out);
  if (fields.has_failed()) return fields.error();
  return out;
}

/// The sites that a request includes and excludes.
struct WantedSites {
  explicit WantedSites(const TavilySearch& wanted)
      : included(wanted.include_domains), excluded(wanted.exclude_domains) {}

  SiteSet included;
  SiteSet excluded;
};

/// Whether a result passes the request's filters.
///
/// in: now - for the age of results with a date, because engines need not support time ranges
bool is_wanted(const TavilySearch& wanted, const WantedSites& sites, const Hit& hit, UnixTime now) {
  const std::string host = host_of(hit.url);
  if (!wanted.include_domains.empty() && !sites.included.contains(host)) return false;
  if (sites.excluded.contains(host)) return false;
  const std::string day = hit.published.substr(0, 10);
  if (!wanted.start_date.empty() && (day.empty() || day < wanted.start_date)) return false;
  if (!wanted.end_date.empty() && (day.empty() || day > wanted.end_date)) return false;
  if (wanted.days > 0 && !day.empty() && day < iso_day(now - wanted.days * kSecondsPerDay)) return false;
  if (wanted.exact_phrase.empty()) return true;
  return ascii_lower(hit.title + "\n" + hit.snippet).find(ascii_lower(wanted.exact_phrase)) !=
         std::string::npos;
}

JsonObject tavily_result(const TavilySearch& wanted, const FusedResult& result) {
  JsonObject out;
  out["title"] = result.hit.title;
  out["url"] = result.hit.url;
  out["content"] = result.hit.snippet;
  out["score"] = result.relative_score;
  out["raw_content"] = nullptr;
  if (!result.hit.published.empty()) out["published_date"] = result.hit.published;
  if (wanted.wants_favicon) out["favicon"] = nullptr;
  return out;
}

/// POST /search with JSON: Tavily's dialect.
Answered tavily_search(Searcher& searcher, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_tavily(body));
  return searcher.serve(exchange, Dialect::tavily, {wanted.search}, [&](FoundSearch& found) {
    const WantedSites sites(wanted);
    JsonArray results;
    const auto& all = found.answer->results;
    for (const FusedResult& result : std::span(all).first(all.size() - found.answer->hidden)) {
      if (results.size() >= static_cast<std::size_t>(wanted.max_results)) break;
      if (is_wanted(wanted, sites, result.hit, searcher.unix_time()))
        results.push_back(tavily_result(wanted, result));
    }
    JsonObject out;
    out["query"] = wanted.search.text;
    out["follow_up_questions"] = nullptr;
    out["answer"] = nullptr;
    out["images"] = JsonArray{};
    out["results"] = std::move(results);
    const std::string mark = new_mark();
    out["response_time"] = mark;
    found.marks.push_back(
        {Gap::seconds, '"' + mark + '"', seconds_text(searcher.time_since(exchange.arrived))});
    return json_response(out);
  });
}

/// The dialect in which errors are answered: a page if HTML was requested, else SearXNG's JSON.
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
      return make_response(200, "application/json", searxng_json(snapshot, answer, *page.shown, parameters));
    case Format::csv: {
      auto response = make_response(200, "text/csv; charset=utf-8", searxng_csv(answer, *page.shown));
      response.set("Content-Disposition", "attachment; filename=\"search.csv\"");
      return response;
    }
    case Format::rss: {
      const std::string self = exchange.origin() + SearchLinks(*page.fields).here();
      return make_response(200, "application/rss+xml; charset=utf-8",
                           searxng_rss(answer, *page.shown, parameters, self));
    }
    case Format::html:
      break;
  }
  return html_response(results_page(exchange, answer, page));
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

/// A copy of the exchange whose snapshot lacks the domain's model, so that RRF fuses the lists.
Exchange without_model(const Exchange& exchange, const std::string& name) {
  Exchange out = exchange;
  const LoadedDomain* domain = exchange.find_domain(name);
  if (domain == nullptr || !domain->model) return out;
  auto snapshot = std::make_shared<Snapshot>(*exchange.snapshot);
  LoadedDomain& plain = snapshot->domains.at(domain->domain.name);
  plain.model.reset();
  plain.challenger.reset();
  plain.is_model_left_out = true;
  plain.engines_digest += " rrf";  // so that every cache keeps it separate
  out.snapshot = std::move(snapshot);
  return out;
}

/// Adds the corrected query. If nothing was found, searches for it instead; the page says so.
void correct(Searcher& searcher, const Exchange& exchange, const WantedSearch& wanted, PageRequest& page,
             FoundSearch& found) {
  std::string corrected = corrected_query(*found.domain, wanted.search.text);
  if (corrected.empty()) return;
  if (found.answer->results.empty() && page.parameters->format == Format::html) {
    WantedSearch again = wanted;
    again.search.text = corrected;
    auto instead = searcher.find(exchange, again);
    if (instead && !instead->answer->results.empty()) {
      found = std::move(*instead);
      page.is_asked_instead = true;
    }
  }
  found.shown.corrections = {std::move(corrected)};
}

HttpResponse search_fields(Searcher& searcher, const PictureReader& pictures, const Exchange& exchange,
                           const Fields& fields) {
  const Dialect dialect = dialect_for(fields);
  if (!has_known_format(fields))
    return error_response(Dialect::searxng, 403, "no such format; send html, json, csv or rss");
  const Preferences preferences = read_preferences_cookie(exchange.request.header("Cookie"));
  // for programs a cookie changes nothing
  auto parameters = read_parameters(dialect == Dialect::page ? with_preferences(fields, preferences) : fields,
                                    *exchange.snapshot);
  if (!parameters) return error_response(dialect, 400, parameters.error().text);
  PageRequest page{&*parameters, nullptr, &preferences, &fields, searcher.unix_time()};
  page.pictures = pictures.links();
  page.files = {page.pictures.secret, exchange.snapshot->config.files};
  const bool is_by_rrf = parameters->is_by_rrf;
  // a search that only compares two rankings must not be learned from, so it is not stored
  const WantedSearch wanted{parameters->search, parameters->first(), is_by_rrf ? 0 : parameters->limit,
                            preferences.sites};
  const std::optional<Exchange> plain =
      is_by_rrf ? std::optional(without_model(exchange, parameters->search.domain)) : std::nullopt;
  const Exchange& asked = plain ? *plain : exchange;
  return searcher.serve(asked, dialect, wanted, [&](FoundSearch& found) {
    correct(searcher, asked, wanted, page, found);
    if (is_by_rrf) {
      auto corrections = std::move(found.shown.corrections);
      found.shown = shown_results(*found.answer, wanted.first, parameters->limit, wanted.sites);
      found.shown.corrections = std::move(corrections);
    }
    page.shown = &found.shown;
    return render(asked, *found.answer, page);
  });
}

/// Whether a page is asked for without anything to search for, as by Enter in an empty box.
bool is_without_query(const Fields& fields) {
  return dialect_for(fields) == Dialect::page &&
         std::none_of(fields.begin(), fields.end(), [](const auto& field) {
           return (field.first == "q" || field.first.starts_with("slot.")) && !trimmed(field.second).empty();
         });
}

/// The page for a query that holds nothing to search for, such as -word alone. The box keeps what was typed.
HttpResponse unsearchable(const Exchange& exchange, const Fields& fields) {
  View view =
      page_view(&exchange, "Search – metafuse", form_value(fields, "q"), form_value(fields, "domain"));
  return html_response(render_page("unsearchable", view), 400);
}

}  // namespace

HttpResponse handle_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange) {
  const Fields& fields = exchange.request.query;
  if (is_without_query(fields)) {
    HttpResponse response;
    response.status = 303;
    const std::string domain = form_value(fields, "domain");
    response.set("Location", domain.empty() ? "/" : "/?domain=" + percent_encoded(domain));
    return response;
  }
  HttpResponse response = search_fields(searcher, pictures, exchange, fields);
  return response.status == 400 && dialect_for(fields) == Dialect::page ? unsearchable(exchange, fields)
                                                                        : response;
}

Answered handle_post_search(Searcher& searcher, PictureReader& pictures, const Exchange& exchange) {
  // LangChain's SearXNG client sends an empty body and puts its parameters into the target
  if (exchange.request.body.empty() && !exchange.request.query.empty())
    return search_fields(searcher, pictures, exchange, exchange.request.query);
  if (dialect_of(exchange.request) == Dialect::tavily) return tavily_search(searcher, exchange);
  return search_fields(searcher, pictures, exchange, exchange.form);
}

namespace {

/// The domains whose templates ask an engine: the values of `categories` that search with it.
JsonArray domains_of(const Exchange& exchange, const std::string& engine) {
  JsonArray out;
  for (const LoadedDomain* domain : exchange.domains())
    for (const templates::SearchTemplate& item : domain->domain.templates)
      if (std::find(item.engines.begin(), item.engines.end(), engine) != item.engines.end()) {
        out.emplace_back(domain->domain.name);
        break;
      }
  return out;
}

JsonObject engine_json(const Exchange& exchange, const std::string& name) {
  const auto& known = exchange.snapshot->engines.traits;
  const auto at = known.find(name);
  const EngineTraits traits = at == known.end() ? EngineTraits() : at->second;
  return {{"name", name},
          {"categories", domains_of(exchange, name)},
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
  for (const LoadedDomain* domain : exchange.domains()) categories.emplace_back(domain->domain.name);
  for (const std::string& name : exchange.snapshot->engines.names)
    if (exchange.key == nullptr || exchange.key->may_ask_engine(name))
      engines.push_back(engine_json(exchange, name));
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
  return json_response(out);
}

HttpResponse handle_autocompleter(Searcher& searcher, const Exchange& exchange) {
  const std::string q(exchange.request.parameter("q").value_or(""));
  JsonArray completions;
  const std::string domain(exchange.request.parameter("domain").value_or(""));
  if (!q.empty())
    for (const std::string& text : searcher.suggest(exchange, domain, q)) completions.emplace_back(text);
  // browsers expect OpenSearch's format, SearXNG's own script only the list
  if (equal_ignoring_case(exchange.request.header("X-Requested-With"), "XMLHttpRequest"))
    return make_response(200, "application/json", to_text(completions));
  return make_response(200, "application/x-suggestions+json", to_text(JsonArray{q, completions}));
}

HttpResponse handle_opensearch(const Exchange& exchange) {
  const std::string url = xml_escaped(exchange.origin());
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
