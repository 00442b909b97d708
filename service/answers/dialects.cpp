#include "service/answers/dialects.h"

#include <array>

#include "core/encoding.h"
#include "service/answers/reasons.h"
#include "service/base/dates.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

JsonArray texts_json(const std::vector<std::string>& texts) {
  JsonArray out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

JsonObject result_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                       std::size_t rank, bool is_explained) {
  JsonArray engines;
  for (const std::string& engine : engines_of(answer, result)) engines.emplace_back(engine);
  JsonArray placements;
  for (const Placement& place : result.placements)
    placements.push_back(JsonObject{{"feature", answer.features[place.feature].name}, {"rank", place.rank}});
  JsonObject out;
  out["rank"] = rank;
  out["url"] = result.hit.url;
  out["title"] = result.hit.title;
  out["snippet"] = result.hit.snippet;
  out["published"] = result.hit.published.empty() ? Json(nullptr) : Json(result.hit.published);
  out["score"] = result.score;
  out["relative_score"] = result.relative_score;
  add_online(result, out);
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
JsonArray parsed_url(const std::string& url) {
  std::string rest = url;
  std::array<std::string, 6> parts;
  if (const std::size_t at = rest.find("://"); at != std::string::npos) {
    parts[0] = rest.substr(0, at);
    rest.erase(0, at + 3);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    parts[1] = rest.substr(0, end);
    rest.erase(0, end);
  }
  const auto take_from = [&](char mark, std::string& into) {
    const std::size_t at = rest.find(mark);
    if (at == std::string::npos) return;
    into = rest.substr(at + 1);
    rest.erase(at);
  };
  take_from('#', parts[5]);
  take_from('?', parts[4]);
  if (const std::size_t at = rest.find(';', rest.rfind('/') == std::string::npos ? 0 : rest.rfind('/'));
      at != std::string::npos) {
    parts[3] = rest.substr(at + 1);
    rest.erase(at);
  }
  parts[2] = rest;
  JsonArray out;
  for (const std::string& part : parts) out.emplace_back(part);
  return out;
}

JsonObject searxng_result(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result,
                          const SearchParameters& parameters) {
  const auto engines = engines_of(answer, result);
  JsonArray names;
  for (const std::string& engine : engines) names.emplace_back(engine);
  JsonArray positions;
  for (const Placement& place : result.placements) positions.emplace_back(place.rank);
  JsonObject out;
  out["url"] = result.hit.url;
  out["title"] = result.hit.title;
  out["content"] = result.hit.snippet;
  out["engine"] = engines.empty() ? "" : engines.front();
  out["template"] = "default.html";
  out["parsed_url"] = parsed_url(result.hit.url);
  out["img_src"] = "";
  out["thumbnail"] = result.hit.thumbnail;
  out["priority"] = "";
  out["engines"] = std::move(names);
  out["positions"] = std::move(positions);
  out["score"] = result.score;
  out["category"] = answer.domain;
  out["publishedDate"] = result.hit.published.empty() ? Json(nullptr) : Json(result.hit.published);
  JsonObject fusion;
  fusion["score"] = result.relative_score;
  add_online(result, fusion);
  if (parameters.wants_explanation) fusion["explanation"] = explanation_json(domain, answer, result);
  out["fusion"] = std::move(fusion);
  return out;
}

}  // namespace

JsonObject searxng_json(const Snapshot& snapshot, const SearchAnswer& answer, const ShownResults& shown,
                        const SearchParameters& parameters) {
  const LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  JsonArray results;
  for (const std::size_t at : shown.positions)
    results.push_back(searxng_result(domain, answer, answer.results[at], parameters));
  JsonArray unresponsive;
  for (const auto& list : answer.lists)
    if (list.has_failed()) unresponsive.push_back(JsonArray{list.query.engine, failure_text(list)});
  JsonObject out;
  out["query"] = answer.query;
  out["number_of_results"] = shown.total;
  out["results"] = std::move(results);
  out["answers"] = JsonArray{};
  out["corrections"] = texts_json(shown.corrections);
  out["infoboxes"] = JsonArray{};
  out["suggestions"] = texts_json(answer.suggestions);
  out["unresponsive_engines"] = std::move(unresponsive);
  out["fusion"] = fusion_json(answer);
  if (!shown.search_id.empty()) out["fusion"].as_object()["search_id"] = shown.search_id;
  return out;
}

std::string searxng_csv(const SearchAnswer& answer, const ShownResults& shown) {
  std::string out = "title,url,content,host,engine,score,type\r\n";
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer.results[at];
    const auto engines = engines_of(answer, result);
    const std::string host(parsed_url(result.hit.url)[1].as_string());
    out += csv_cell(result.hit.title) + ',' + csv_cell(result.hit.url) + ',' + csv_cell(result.hit.snippet) +
           ',' + csv_cell(host) + ',' + csv_cell(engines.empty() ? "" : engines.front()) + ',' +
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
      "xmlns:atom=\"http://www.w3.org/2005/Atom\">\n<channel>\n";
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
    out += "</item>\n";
  }
  return out + "</channel>\n</rss>\n";
}

}  // namespace metafuse::service
