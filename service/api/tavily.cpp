#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/base/addresses.h"
#include "service/base/dates.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/search_requests.h"
#include "service/search/shown_results.h"

// POST /search with JSON: Tavily's dialect.

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

}  // namespace

Answered tavily_search(Finder& finder, const Clock& clock, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_tavily(body));
  TRY(const auto found, finder.find(exchange, {wanted.search}));
  const WantedSites sites(wanted);
  JsonArray results;
  const auto& all = found.answer->results;
  for (const FusedResult& result : std::span(all).first(all.size() - found.answer->hidden)) {
    if (results.size() >= static_cast<std::size_t>(wanted.max_results)) break;
    if (is_wanted(wanted, sites, result.hit, finder.unix_time()))
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
  return found.response(json_response(out),
                        {{Gap::seconds, '"' + mark + '"', seconds_text(clock.now() - exchange.arrived)}});
}

}  // namespace metafuse::service
