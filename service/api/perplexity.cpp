#include <algorithm>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/number.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/base/dates.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/result_conditions.h"
#include "service/search/search_requests.h"

// POST /perplexity/search: the shape of Perplexity's search API, which LiteLLM takes as its norm.

namespace metafuse::service {
namespace {

constexpr int kMostPerplexityResults = 20;
constexpr std::size_t kMostFilteredSites = 20;

struct PerplexitySearch {
  SearchRequest search;
  int max_results = 10;
  ResultConditions conditions;
};

/// "1/31/2026" as "2026-01-31"; "" for anything else.
std::string iso_of_american(std::string_view text) {
  std::int64_t parts[3] = {};
  std::size_t count = 0;
  for (const std::string& part : split(text, '/'))
    if (count == 3 || !to_integer(part, parts[count++])) return {};
  if (count != 3) return {};
  const std::string iso = fmt::format("{:04}-{:02}-{:02}", parts[2], parts[0], parts[1]);
  return iso.size() == 10 && moment_of(iso) ? iso : std::string();
}

/// Reads the list of sites; one with a leading "-" is excluded.
void read_sites_filter(JsonFields& fields, ResultConditions& out) {
  for (std::string& site : fields.texts("search_domain_filter", kMostFilteredSites)) {
    if (site.starts_with('-'))
      out.excluded.push_back(site.substr(1));
    else
      out.included.push_back(std::move(site));
  }
}

void read_dates(JsonFields& fields, PerplexitySearch& out) {
  const std::string recency = fields.text("search_recency_filter", 10).value_or("");
  out.search.time_range = recency == "hour" ? "day" : recency;
  out.conditions.days = days_of_time_range(out.search.time_range);
  if (!recency.empty() && out.conditions.days == 0)
    fields.set_mistake("search_recency_filter must be hour, day, week, month or year");
  for (const auto& [name, into] : {std::pair{"search_after_date_filter", &out.conditions.start_date},
                                   std::pair{"search_before_date_filter", &out.conditions.end_date}})
    if (const auto text = fields.text(name, 10)) {
      *into = iso_of_american(*text);
      if (into->empty()) fields.set_mistake(fmt::format("{} must be a date such as 1/31/2026", name));
    }
}

Result<PerplexitySearch> read_perplexity(const JsonObject& body) {
  JsonFields fields(body);
  PerplexitySearch out;
  read_queries(fields, body, out.search);
  if (out.search.text.empty()) fields.set_mistake("query is missing");
  out.max_results = fields.integer("max_results", 1, kMostPerplexityResults).value_or(10);
  out.search.results = static_cast<std::size_t>(out.max_results);
  read_sites_filter(fields, out.conditions);
  read_dates(fields, out);
  if (fields.has_failed()) return fields.error();
  return out;
}

JsonObject perplexity_result(const Hit& hit) {
  JsonObject out{{"title", hit.title}, {"url", hit.url}, {"snippet", hit.snippet}};
  out["date"] = hit.published.empty() ? Json(nullptr) : Json(hit.published.substr(0, 10));
  out["last_updated"] = nullptr;
  return out;
}

}  // namespace

Answered handle_perplexity_search(Finder& finder, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_perplexity(body));
  TRY(const auto found, finder.find(exchange, {wanted.search}));
  JsonArray results;
  for (const std::size_t at : wanted_positions(*found.answer, wanted.conditions, finder.unix_time())) {
    if (results.size() >= static_cast<std::size_t>(wanted.max_results)) break;
    results.push_back(perplexity_result(found.answer->results[at].hit));
  }
  JsonObject out{{"id", random_hex(16)}};
  out["results"] = std::move(results);
  return found.response(json_response(out));
}

}  // namespace metafuse::service
