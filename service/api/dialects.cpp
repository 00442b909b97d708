#include "service/api/dialects.h"

#include <array>

#include "core/encoding.h"
#include "core/json_writer.h"
#include "service/base/dates.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kUsualResultBytes = 768;

JsonArray texts_json(const std::vector<std::string>& texts) {
  JsonArray out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

JsonObject result_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                       std::size_t rank, bool is_explained) {
  JsonArray engines;
  for (const std::string_view engine : engines_of(answer, result)) engines.emplace_back(engine);
  JsonArray placements;
  for (const Placement& place : result.placements)
    placements.push_back(JsonObject{{"feature", answer.features[place.feature].name}, {"rank", place.rank}});
  JsonObject out;
  out["rank"] = rank;
  out["url"] = result.hit.url;
  out["title"] = result.hit.title;
  out["snippet"] = result.hit.snippet;
  out["published"] = result.hit.published.empty() ? Json(nullptr) : Json(result.hit.published);
  if (!result.hit.language.empty()) out["language"] = result.hit.language;
  out["score"] = result.score;
  out["relative_score"] = result.relative_score;
  add_online(result, out);
  add_decisions(result, out);
  out["engines"] = std::move(engines);
  out["placements"] = std::move(placements);
  if (is_explained) out["explanation"] = explanation_json(domain, answer, result);
  return out;
}

}  // namespace

JsonObject native_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                       bool is_explained) {
  const LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  JsonArray results;
  std::size_t rank = shown.first;
  for (const std::size_t at : shown.positions)
    results.push_back(result_json(domain, answer, answer.results[at], ++rank, is_explained));
  JsonArray failed;
  for (const auto& list : answer.lists) {
    if (!list.has_failed()) continue;
    failed.push_back(JsonObject{{"feature", list.query.feature_name()},
                                {"engine", list.query.engine},
                                {"failure", fetchers::name_of(list.failure)}});
  }
  JsonObject slots;
  for (const auto& [name, value] : answer.slots.slots) slots[name] = value;
  JsonArray queries;
  for (const auto& list : answer.lists)
    queries.push_back(JsonObject{{"feature", list.query.feature_name()}, {"text", list.query.text}});
  JsonObject out;
  out["query"] = answer.query;
  out["slots"] = std::move(slots);
  out["results"] = std::move(results);
  out["total"] = shown.total;
  out["has_more"] =
      shown.first + shown.positions.size() < shown.total || may_hold_more(answer, domain.domain.depth);
  if (!shown.search_id.empty()) out["search_id"] = shown.search_id;
  out["suggestions"] = texts_json(answer.suggestions);
  out["corrections"] = texts_json(shown.corrections);
  out["failed"] = std::move(failed);
  out["fusion"] = fusion_json(answer);
  if (is_explained) out["queries"] = std::move(queries);
  out["timing"] =
      JsonObject{{"fetch_ms", answer.fetch_seconds * 1e3}, {"fuse_ms", answer.fuse_seconds * 1e3}};
  return out;
}

namespace {

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
void write_texts(JsonWriter& out, JsonKey key, const Texts& texts) {
  out.key(key).open_array();
  for (const auto& text : texts) out.text(text);
  out.close_array();
}

void write_searxng_result(JsonWriter& out, const LoadedDomain& domain, const SearchAnswer& answer,
                          const FusedResult& result, bool is_explained) {
  const auto engines = engines_of(answer, result);
  out.open_object();
  write_text(out, "url", result.hit.url);
  write_text(out, "title", result.hit.title);
  write_text(out, "content", result.hit.snippet);
  write_text(out, "engine", engines.empty() ? std::string_view() : engines.front());
  write_text(out, "template", "default.html");
  write_texts(out, "parsed_url", parsed_url(result.hit.url));
  write_text(out, "img_src", "");
  write_text(out, "thumbnail", result.hit.thumbnail);
  write_text(out, "priority", "");
  write_texts(out, "engines", engines);
  out.key("positions").open_array();
  for (const Placement& place : result.placements) out.whole(static_cast<std::uint64_t>(place.rank));
  out.close_array();
  out.key("score").number(result.score);
  write_text(out, "category", answer.domain);
  write_text_or_null(out, "publishedDate", result.hit.published);
  if (!result.hit.language.empty()) write_text(out, "language", result.hit.language);
  out.key("fusion").open_object();
  out.key("score").number(result.relative_score);
  if (result.moved_from > 0) {
    out.key("moved_from").whole(result.moved_from);
    out.key("online_score").number(result.online_score);
  }
  if (result.grade) out.key("judged").whole(static_cast<std::uint64_t>(*result.grade));
  if (result.decided != Decided::nothing) write_text(out, "decided", name_of(result.decided));
  if (is_explained) out.key("explanation").json(explanation_json(domain, answer, result));
  out.close_object();
  out.close_object();
}

}  // namespace

std::string searxng_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                         const SearchParameters& parameters) {
  const LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  JsonWriter out(kUsualResultBytes * (shown.positions.size() + 2));
  out.open_object();
  write_text(out, "query", answer.query);
  out.key("number_of_results").whole(shown.total);
  out.key("results").open_array();
  for (const std::size_t at : shown.positions)
    write_searxng_result(out, domain, answer, answer.results[at], parameters.wants_explanation);
  out.close_array();
  const std::vector<std::string> nothing;
  write_texts(out, "answers", nothing);
  write_texts(out, "corrections", shown.corrections);
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
  if (!shown.search_id.empty()) fusion["search_id"] = shown.search_id;
  out.key("fusion").json(fusion);
  out.close_object();
  return out.take();
}

std::string searxng_csv(const SearchAnswer& answer, const ShownResults& shown) {
  std::string out = "title,url,content,host,engine,score,type\r\n";
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer.results[at];
    const auto engines = engines_of(answer, result);
    const std::string host(parsed_url(result.hit.url)[1]);
    out += csv_cell(result.hit.title) + ',' + csv_cell(result.hit.url) + ',' + csv_cell(result.hit.snippet) +
           ',' + csv_cell(host) + ',' +
           csv_cell(engines.empty() ? std::string() : std::string(engines.front())) + ',' +
           to_text(Json(result.score)) + ",result\r\n";
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

}  // namespace metafuse::service
