#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/base/dates.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/relevance_cut.h"
#include "service/search/result_conditions.h"
#include "service/search/search_requests.h"

// POST /search with JSON: Tavily's dialect.

namespace metafuse::service {
namespace {

/// What a Tavily client asks for. What this server cannot provide is null in the answer, never invented.
struct TavilySearch {
  SearchRequest search;
  int max_results = 5;
  ResultConditions conditions;
  bool wants_favicon = false;
  bool is_exa = false;  ///< sent by Exa's clients
};

void check_word(JsonFields& fields, std::string_view name, std::initializer_list<std::string_view> words) {
  const auto text = fields.text(name, 100);
  if (!text || std::find(words.begin(), words.end(), *text) != words.end()) return;
  fields.set_mistake("Invalid " + std::string(name) + ": \"" + *text + "\"");
}

void read_time(JsonFields& fields, TavilySearch& out) {
  ResultConditions& conditions = out.conditions;
  constexpr std::string_view kRanges[] = {"day", "week", "month", "year"};
  if (const auto wanted = fields.text("time_range", 10)) {
    for (const std::string_view range : kRanges)
      if (range == *wanted || range.substr(0, 1) == *wanted) out.search.time_range = range;
    conditions.days = days_of_time_range(out.search.time_range);
    if (conditions.days == 0) fields.set_mistake("Invalid time_range: \"" + *wanted + "\"");
  }
  if (const int days = fields.integer("days", 0, 36500).value_or(0); days > 0 && conditions.days == 0) {
    conditions.days = days;
    for (const std::string_view range : kRanges)
      if (out.search.time_range.empty() && days <= days_of_time_range(range)) out.search.time_range = range;
  }
  for (auto [name, into] :
       {std::pair{"start_date", &conditions.start_date}, std::pair{"end_date", &conditions.end_date}}) {
    *into = fields.text(name, 10).value_or("");
    if (!into->empty() && (into->size() != 10 || !moment_of(*into)))
      fields.set_mistake("Invalid " + std::string(name) + ": YYYY-MM-DD is expected");
  }
  if (!conditions.start_date.empty() && !conditions.end_date.empty() &&
      conditions.end_date < conditions.start_date)
    fields.set_mistake("Invalid end_date: it is before start_date");
}

/// The first phrase in quotes, or else the whole query: what exact_match requires.
std::string quoted_phrase(const std::string& query) {
  const std::size_t begin = query.find('"');
  if (begin == std::string::npos) return query;
  const std::size_t end = query.find('"', begin + 1);
  return end == std::string::npos ? query : query.substr(begin + 1, end - begin - 1);
}

/// Exa's clients send the same request under other names, and read a result's id and text.
void read_exa_names(JsonFields& fields, const JsonObject& body, TavilySearch& out) {
  constexpr int kMostOfExa = 100;
  out.is_exa = body.contains("numResults") || body.contains("contents");
  if (const auto wanted = fields.integer("numResults", 1, kMostOfExa)) out.max_results = *wanted;
  out.conditions.included = fields.texts("includeDomains");
  out.conditions.excluded = fields.texts("excludeDomains");
}

Result<TavilySearch> read_tavily(const JsonObject& body) {
  JsonFields fields(body);
  TavilySearch out;
  read_queries(fields, body, out.search);
  if (out.search.text.empty()) fields.set_mistake("Query is missing.");
  check_word(fields, "search_depth", {"basic", "advanced", "fast", "ultra-fast"});
  check_word(fields, "topic", {"general", "news", "finance"});
  if (const auto depth = fields.text("search_depth", 100); depth && depth->ends_with("fast"))
    out.search.deadline_seconds = 1;
  out.max_results = fields.integer("max_results", 0, 20).value_or(5);
  read_exa_names(fields, body, out);
  out.search.results = static_cast<std::size_t>(out.max_results);
  for (std::string& site : fields.texts("include_domains"))
    out.conditions.included.push_back(std::move(site));
  for (std::string& site : fields.texts("exclude_domains"))
    out.conditions.excluded.push_back(std::move(site));
  out.wants_favicon = fields.flag("include_favicon").value_or(false);
  if (fields.flag("exact_match").value_or(false)) out.conditions.phrase = quoted_phrase(out.search.text);
  read_min_relevance(fields, out.search);
  read_time(fields, out);
  if (fields.has_failed()) return fields.error();
  return out;
}

JsonObject tavily_result(const TavilySearch& wanted, const FusedResult& result, double score) {
  JsonObject out;
  out["title"] = result.hit.title;
  out["url"] = result.hit.url;
  out["content"] = result.hit.snippet;
  out["score"] = score;
  out["raw_content"] = nullptr;
  if (!result.hit.published.empty()) out["published_date"] = result.hit.published;
  if (wanted.is_exa) {
    out["id"] = result.hit.url;
    out["text"] = result.hit.snippet;
    if (!result.hit.published.empty()) out["publishedDate"] = result.hit.published;
  }
  if (wanted.wants_favicon) out["favicon"] = nullptr;
  return out;
}

}  // namespace

Answered tavily_search(Finder& finder, const Clock& clock, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_tavily(body));
  // an exact match is asked for with the words as they are
  const auto correction = correction_for(!wanted.conditions.phrase.empty());
  TRY(const auto found, finder.find(exchange, {wanted.search, 0, {}, correction}));
  JsonArray results;
  const auto positions = wanted_positions(*found.answer, wanted.conditions, finder.unix_time());
  const auto scores = unit_scores(*found.answer, positions);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (results.size() >= static_cast<std::size_t>(wanted.max_results)) break;
    results.push_back(tavily_result(wanted, found.answer->results[positions[i]], scores[i]));
  }
  JsonObject out;
  out["query"] = found.shown.typed.empty() ? wanted.search.text : found.answer->query;
  if (!found.shown.typed.empty()) out["typed_query"] = found.shown.typed;
  out["follow_up_questions"] = nullptr;
  out["answer"] = nullptr;
  out["images"] = JsonArray{};
  out["results"] = std::move(results);
  add_relevance_cut(*found.answer, out);
  const std::string mark = new_mark();
  out["response_time"] = mark;
  return found.response(json_response(out),
                        {{Gap::seconds, '"' + mark + '"', seconds_text(clock.now() - exchange.arrived)}});
}

}  // namespace metafuse::service
