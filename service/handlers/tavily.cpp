#include "service/handlers/tavily.h"

#include <algorithm>

#include "core/ascii.h"
#include "core/json.h"
#include "service/answers/reasons.h"
#include "service/base/addresses.h"
#include "service/base/dates.h"
#include "service/errors.h"
#include "service/http/message.h"
#include "service/requests/json_fields.h"
#include "service/search/shown_results.h"

namespace metafuse::service {
namespace {

/// What a Tavily client asks for; what cannot be given here is null in the answer, never made up.
struct TavilySearch {
  SearchRequest search;
  int max_results = 5;
  std::vector<std::string> include_domains;
  std::vector<std::string> exclude_domains;
  std::string start_date;
  std::string end_date;
  int days = 0;  ///< how old results may be that have a date, 0 for any age
  bool wants_favicon = false;
  std::string exact_phrase;
};

void check_word(JsonFields& fields, std::string_view name, std::initializer_list<std::string_view> words) {
  const auto text = fields.text(name, 100);
  if (!text || std::find(words.begin(), words.end(), *text) != words.end()) return;
  fields.set_mistake("Invalid " + std::string(name) + ": \"" + *text + "\"");
}

void read_time(JsonFields& fields, TavilySearch& out) {
  struct Range {
    std::string_view name, letter;
    int days;
  };
  static constexpr Range kRanges[] = {
      {"day", "d", 1}, {"week", "w", 7}, {"month", "m", 31}, {"year", "y", 366}};
  if (const auto wanted = fields.text("time_range", 10)) {
    for (const Range& range : kRanges) {
      if (range.name != *wanted && range.letter != *wanted) continue;
      out.search.time_range = range.name;
      out.days = range.days;
    }
    if (out.days == 0) fields.set_mistake("Invalid time_range: \"" + *wanted + "\"");
  }
  if (const int days = fields.integer("days", 0, 36500).value_or(0); days > 0 && out.days == 0) {
    out.days = days;
    for (const Range& range : kRanges)
      if (out.search.time_range.empty() && days <= range.days) out.search.time_range = range.name;
  }
  for (auto [name, into] : {std::pair{"start_date", &out.start_date}, std::pair{"end_date", &out.end_date}}) {
    *into = fields.text(name, 10).value_or("");
    if (!into->empty() && (into->size() != 10 || !moment_of(*into)))
      fields.set_mistake("Invalid " + std::string(name) + ": YYYY-MM-DD is expected");
  }
  if (!out.start_date.empty() && !out.end_date.empty() && out.end_date < out.start_date)
    fields.set_mistake("Invalid end_date: it is before start_date");
}

/// The first phrase in quotes, which exact_match asks for.
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

/// in: now - for the age of results that have a date; engines need not know of ages
bool is_wanted(const TavilySearch& wanted, const Hit& hit, UnixTime now) {
  const std::string host = host_of(hit.url);
  const auto matches = [&](const std::string& domain) { return is_under_site(host, domain); };
  const auto& in = wanted.include_domains;
  const auto& out = wanted.exclude_domains;
  if (!in.empty() && std::none_of(in.begin(), in.end(), matches)) return false;
  if (std::any_of(out.begin(), out.end(), matches)) return false;
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

HttpResponse tavily_search(Searcher& searcher, const Exchange& exchange) {
  const auto body = json_body(exchange.request);
  if (!body) return error_response(Dialect::tavily, 400, body.error().text);
  const auto wanted = read_tavily(*body);
  if (!wanted) return error_response(Dialect::tavily, 400, wanted.error().text);
  return searcher.serve(exchange, Dialect::tavily, {wanted->search}, [&](FoundSearch& found) {
    JsonArray results;
    for (const FusedResult& result : found.answer->results) {
      if (results.size() >= static_cast<std::size_t>(wanted->max_results)) break;
      if (is_wanted(*wanted, result.hit, searcher.unix_time()))
        results.push_back(tavily_result(*wanted, result));
    }
    JsonObject out;
    out["query"] = wanted->search.text;
    out["follow_up_questions"] = nullptr;
    out["answer"] = nullptr;
    out["images"] = JsonArray{};
    out["results"] = std::move(results);
    const std::string mark = new_mark();
    out["response_time"] = mark;
    found.marks.push_back(
        {Gap::seconds, '"' + mark + '"', seconds_text(searcher.time_since(exchange.arrived))});
    return make_response(200, "application/json", to_text(out));
  });
}

}  // namespace metafuse::service
