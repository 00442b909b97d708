#include "service/answers/dialects.h"
#include "service/answers/explanation.h"
#include "service/answers/reasons.h"
#include "service/search/list_windows.h"

namespace metafuse::service {
namespace {

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
  JsonArray suggestions;
  for (const std::string& text : answer.suggestions) suggestions.emplace_back(text);
  JsonObject out;
  out["query"] = answer.query;
  out["slots"] = std::move(slots);
  out["results"] = std::move(results);
  out["total"] = shown.total;
  out["has_more"] =
      shown.first + shown.positions.size() < shown.total || may_hold_more(answer, domain.domain.depth);
  if (!shown.search_id.empty()) out["search_id"] = shown.search_id;
  out["suggestions"] = std::move(suggestions);
  out["failed"] = std::move(failed);
  out["fusion"] = fusion_json(answer);
  if (is_explained) out["queries"] = std::move(queries);
  out["timing"] =
      JsonObject{{"fetch_ms", answer.fetch_seconds * 1e3}, {"fuse_ms", answer.fuse_seconds * 1e3}};
  return out;
}

}  // namespace metafuse::service
