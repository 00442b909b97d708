#include "service/api/searxng.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "core/number.h"
#include "core/text.h"
#include "service/api/handlers.h"
#include "service/base/dates.h"
#include "service/base/process.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/relevance_cut.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"

// SearXNG's JSON, CSV and RSS, and what its clients and browsers request beside a search: /config,
// /autocompleter, /suggest and /opensearch.xml.

namespace metafuse::service {
namespace {

constexpr std::size_t kUsualResultBytes = 768;
constexpr std::size_t kMostSuggestions = 8;

/// Python's urlparse: [scheme, netloc, path, params, query, fragment], cut and not decoded.
std::array<std::string_view, 6> parsed_url(std::string_view rest) {
  std::array<std::string_view, 6> parts;
  if (const std::size_t at = rest.find("://"); at != std::string_view::npos) {
    parts[0] = rest.substr(0, at);
    rest.remove_prefix(at + 3);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    parts[1] = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  const auto take_from = [&](std::size_t at, std::string_view& into) {
    if (at == std::string_view::npos) return;
    into = rest.substr(at + 1);
    rest = rest.substr(0, at);
  };
  take_from(rest.find('#'), parts[5]);
  take_from(rest.find('?'), parts[4]);
  const std::size_t last_slash = rest.rfind('/');
  take_from(rest.find(';', last_slash == std::string_view::npos ? 0 : last_slash), parts[3]);
  parts[2] = rest;
  return parts;
}

/// Writes a member whose value is null if the text is empty.
void write_text_or_null(JsonWriter& out, JsonKey key, const std::string& text) {
  out.key(key);
  text.empty() ? out.json(Json(nullptr)) : out.text(text);
}

void write_text(JsonWriter& out, JsonKey key, std::string_view text) {
  out.key(key).text(text);
}

template <class Texts>
void write_list(JsonWriter& out, const Texts& texts) {
  out.open_array();
  for (const auto& text : texts) out.text(text);
  out.close_array();
}

template <class Texts>
void write_texts(JsonWriter& out, JsonKey key, const Texts& texts) {
  write_list(out.key(key), texts);
}

/// The scores of the results shown: the ranker's, except that none is above those before it. Clients sort by
/// the score again, and must not undo an order that the ranker alone did not make.
std::vector<double> falling_scores(const SearchAnswer& answer, const ShownResults& shown) {
  double most = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < std::min(shown.first, answer.results.size()); ++at)
    most = std::min(most, answer.results[at].score);
  std::vector<double> out;
  for (const std::size_t at : shown.positions) {
    most = std::min(most, answer.results[at].score);
    out.push_back(most);
  }
  return out;
}

/// Whether an engine for pictures found the result; its thumbnail is then what was searched for.
bool is_picture(const Snapshot& snapshot, const std::vector<std::string_view>& engines) {
  return std::any_of(engines.begin(), engines.end(), [&](std::string_view name) {
    const auto traits = snapshot.engines.traits.find(std::string(name));
    return traits != snapshot.engines.traits.end() && traits->second.finds_pictures();
  });
}

/// "A; B" as a list.
std::vector<std::string> authors_in(std::string_view text) {
  std::vector<std::string> authors;
  while (!text.empty())
    if (const std::string_view author = ascii_trimmed(take_until(text, ';')); !author.empty())
      authors.emplace_back(author);
  return authors;
}

/// The members that SearXNG has for results of a kind. The picture's address is always there.
void write_details(JsonWriter& out, const Hit& hit) {
  if (hit.kind == ResultKind::page) return;
  if (hit.kind == ResultKind::image) write_text(out, "thumbnail_src", hit.thumbnail);
  const std::string_view width = detail(hit.details, "width"), height = detail(hit.details, "height");
  if (!width.empty() && !height.empty() && detail(hit.details, "resolution").empty())
    write_text(out, "resolution", fmt::format("{} x {}", width, height));
  for (const auto& [name, value] : hit.details) {
    const DetailRow* row = find_detail(name);
    if (row == nullptr || row->searxng_name.empty() || name == "image") continue;
    if (double seconds = 0; row->form == DetailForm::seconds)
      out.plain_key(row->searxng_name).text(to_double(value, seconds) ? shown_length(seconds) : value);
    else if (name == "authors")
      write_list(out.plain_key(row->searxng_name), authors_in(value));
    else
      out.plain_key(row->searxng_name).text(value);
  }
}

/// The picture of a result: its own, or what an engine for pictures shows of it.
std::string_view picture_of(const Snapshot& snapshot, const FusedResult& result,
                            const std::vector<std::string_view>& engines) {
  const std::string_view own = detail(result.hit.details, "image");
  if (!own.empty()) return own;
  return is_picture(snapshot, engines) ? std::string_view(result.hit.thumbnail) : std::string_view();
}

/// What all results of an answer are written with.
struct ResultWriting {
  const Snapshot& snapshot;
  const SearchAnswer& answer;
  bool is_explained;
};

void write_searxng_result(JsonWriter& out, const ResultWriting& writing, const FusedResult& result,
                          double score) {
  const SearchAnswer& answer = writing.answer;
  const auto engines = engines_of(answer, result);
  out.open_object();
  write_text(out, "url", result.hit.url);
  write_text(out, "title", result.hit.title);
  write_text(out, "content", result.hit.snippet);
  write_text(out, "engine", engines.empty() ? std::string_view() : engines.front());
  write_text(out, "template", result_kinds()[static_cast<std::size_t>(result.hit.kind)].searxng_template);
  write_texts(out, "parsed_url", parsed_url(result.hit.url));
  write_text(out, "img_src", picture_of(writing.snapshot, result, engines));
  write_text(out, "thumbnail", result.hit.thumbnail);
  write_details(out, result.hit);
  write_text(out, "priority", "");
  write_texts(out, "engines", engines);
  out.key("positions").open_array();
  for (const Placement& place : result.placements) out.whole(static_cast<std::uint64_t>(place.rank));
  out.close_array();
  out.key("score").number(score);
  write_text(out, "category", answer.domain);
  write_text_or_null(out, "publishedDate", result.hit.published);
  if (!result.hit.language.empty()) write_text(out, "language", result.hit.language);
  out.key("fusion").open_object();
  out.key("score").number(result.relative_score);
  if (result.relevance) out.key("relevance").number(*result.relevance);
  if (result.moved_from > 0) {
    out.key("moved_from").whole(result.moved_from);
    out.key("online_score").number(result.online_score);
  }
  if (result.grade) out.key("judged").whole(static_cast<std::uint64_t>(*result.grade));
  if (result.decided != Decided::nothing) write_text(out, "decided", name_of(result.decided));
  if (writing.is_explained)
    out.key("explanation")
        .json(explanation_json(*writing.snapshot.find_domain(answer.domain), answer, result));
  out.close_object();
  out.close_object();
}

}  // namespace

std::string searxng_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                         const SearchParameters& parameters) {
  JsonWriter out(kUsualResultBytes * (shown.positions.size() + 2));
  out.open_object();
  write_text(out, "query", answer.query);
  out.key("number_of_results").whole(shown.total);
  out.key("results").open_array();
  const ResultWriting writing{snapshot, answer, parameters.wants_explanation};
  const auto scores = falling_scores(answer, shown);
  for (std::size_t i = 0; i < scores.size(); ++i)
    write_searxng_result(out, writing, answer.results[shown.positions[i]], scores[i]);
  out.close_array();
  const std::vector<std::string> nothing;
  write_texts(out, "answers", nothing);
  write_texts(out, "corrections", shown.corrections);
  if (!shown.typed.empty()) write_text(out, "typed", shown.typed);
  write_texts(out, "infoboxes", nothing);
  write_texts(out, "suggestions", answer.suggestions);
  out.key("unresponsive_engines").open_array();
  for (const auto& list : answer.lists) {
    if (!list.has_failed()) continue;
    out.open_array();
    out.text(list.query.engine);
    out.text(failure_text(list));
    out.close_array();
  }
  out.close_array();
  JsonObject fusion = fusion_json(answer);
  add_relevance_cut(answer, fusion);
  if (!answer.not_asked.empty()) fusion["not_asked"] = not_asked_json(answer);
  if (!shown.search_id.empty()) fusion["search_id"] = shown.search_id;
  out.key("fusion").json(fusion);
  out.close_object();
  return out.take();
}

std::string searxng_csv(const SearchAnswer& answer, const ShownResults& shown) {
  std::string out = "title,url,content,host,engine,score,type\r\n";
  const auto scores = falling_scores(answer, shown);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const FusedResult& result = answer.results[shown.positions[i]];
    const auto engines = engines_of(answer, result);
    const std::string host(parsed_url(result.hit.url)[1]);
    out += csv_cell(result.hit.title) + ',' + csv_cell(result.hit.url) + ',' + csv_cell(result.hit.snippet) +
           ',' + csv_cell(host) + ',' +
           csv_cell(engines.empty() ? std::string() : std::string(engines.front())) + ',' +
           to_text(Json(scores[i])) + ",result\r\n";
  }
  return out;
}

std::string searxng_rss(const SearchAnswer& answer, const ShownResults& shown,
                        const SearchParameters& parameters, const std::string& self) {
  const auto element = [](const char* name, const std::string& text) {
    return "<" + std::string(name) + ">" + xml_escaped(text) + "</" + name + ">\n";
  };
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<rss version=\"2.0\" xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\" "
      "xmlns:atom=\"http://www.w3.org/2005/Atom\" "
      "xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel>\n";
  out += element("title", "metafuse: " + answer.query) + element("link", self);
  out += element("description", "Search results for \"" + answer.query + "\"");
  out += element("opensearch:totalResults", std::to_string(shown.total));
  out += element("opensearch:startIndex", std::to_string(shown.first + 1));
  out += element("opensearch:itemsPerPage", std::to_string(parameters.limit));
  out += "<atom:link rel=\"self\" type=\"application/rss+xml\" href=\"" + xml_escaped(self) + "\"/>\n";
  out += "<opensearch:Query role=\"request\" searchTerms=\"" + xml_escaped(answer.query) + "\" startPage=\"" +
         std::to_string(parameters.search.page) + "\"/>\n";
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer.results[at];
    out += "<item>\n" + element("title", result.hit.title) + element("link", result.hit.url);
    out += element("description", result.hit.snippet);
    if (const auto at_moment = moment_of(result.hit.published))
      out += element("pubDate", rfc822_text(*at_moment));
    if (!result.hit.language.empty()) out += element("dc:language", result.hit.language);
    out += "</item>\n";
  }
  return out + "</channel>\n</rss>\n";
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
  for (const LoadedDomain* domain : exchange.domains())
    if (!domain->domain.templates.empty()) categories.emplace_back(domain->domain.name);
  for (const std::string& name : exchange.snapshot->engines.names)
    if (exchange.snapshot->engines.may_ask(exchange.key, name))
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

namespace {

/// Completions of the text typed so far: queries that several people asked in the domain, titles and words of
/// those of its embedded indexes that the exchange's key may ask, and suggestions by public engines in the
/// domains that it may use.
std::vector<std::string> completions_of(const Suggester& suggester, const Exchange& exchange,
                                        std::string_view domain_name, std::string_view prefix) {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      if (out.size() < kMostSuggestions && std::find(out.begin(), out.end(), text) == out.end())
        out.push_back(text);
  };
  if (const LoadedDomain* domain = exchange.find_domain(domain_name); domain != nullptr) {
    add(suggester.asked(domain->domain.name, prefix, kMostSuggestions / 2));
    for (const auto& vocabulary : usable_vocabularies(exchange, *domain))
      add(vocabulary->get().complete(prefix, kMostSuggestions));
  }
  const auto is_usable = [&](const std::string& domain) {
    return exchange.key == nullptr || exchange.key->may_use_domain(domain);
  };
  add(suggester.complete(prefix, is_usable, kMostSuggestions));
  return out;
}

}  // namespace

HttpResponse handle_autocompleter(const Suggester& suggester, const Exchange& exchange) {
  const std::string q(exchange.request.parameter("q").value_or(""));
  JsonArray completions;
  const std::string domain(exchange.request.parameter("domain").value_or(""));
  if (!q.empty())
    for (const std::string& text : completions_of(suggester, exchange, domain, q))
      completions.emplace_back(text);
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
      "<ShortName>" +
      xml_escaped(exchange.snapshot->config.branding.name) +
      "</ShortName>\n<Description>Fused search over several engines</Description>\n"
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
