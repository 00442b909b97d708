#include "service/learning/analytics.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/number.h"
#include "service/api/handlers.h"
#include "service/base/log.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/learning/records.h"
#include "service/pages/analytics_page.h"
#include "service/pages/handlers.h"
#include "service/pages/page.h"

// /analytics and /v1/analytics: statistics of searches, for administrators. The gate has checked the role.

namespace metafuse::service {
namespace {

constexpr std::string_view kCsvAction = "csv-";

std::optional<int> days_of(std::string_view text) {
  std::int64_t days = 0;
  if (text.empty()) return AnalyticsOptions().days;
  if (!to_integer(text, days) || days < 1 || days > kMaxAnalyticsDays) return std::nullopt;
  return static_cast<int>(days);
}

bool is_analytics_table(std::string_view name) {
  return std::find(kAnalyticsTables.begin(), kAnalyticsTables.end(), name) != kAnalyticsTables.end();
}

HttpResponse csv_response(const Analytics& analytics, std::string_view table, const std::string& domain) {
  HttpResponse response = make_response(200, "text/csv; charset=utf-8", analytics_csv(analytics, table));
  response.set("Content-Disposition", fmt::format("attachment; filename=\"{}-{}.csv\"", domain, table));
  return response;
}

/// The figures up to now, including searches that still wait to be written.
Result<Analytics> figures_of(Records& records, const std::string& domain, int days) {
  records.search_log->flush(std::chrono::milliseconds(250));
  return analytics_of(*records.store, {domain, records.unix_time(), days});
}

}  // namespace

Answered handle_get_analytics(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  if (records.store == nullptr) return refusal(404, "this server has no store, so it remembers no searches");
  const auto days = days_of(exchange.request.parameter("days").value_or(""));
  if (!days) return refusal(400, fmt::format("days: send 1 to {}", kMaxAnalyticsDays));
  const std::string_view format = exchange.request.parameter("format").value_or("json");
  const std::string_view table = exchange.request.parameter("table").value_or("days");
  if (format != "json" && format != "csv") return refusal(400, "format: send json or csv");
  if (!is_analytics_table(table))
    return refusal(400, fmt::format("table: send one of {}", fmt::join(kAnalyticsTables, ", ")));
  const std::string& name = domain->domain.name;
  TRY(const auto figures, figures_of(records, name, *days));
  if (format == "csv") return csv_response(figures, table, name);
  return json_response(to_json(figures));
}

HttpResponse handle_analytics_list(const Exchange& exchange) {
  return html_response(domain_list_page(exchange, "analytics_list", "Analytics"));
}

Answered handle_analytics_page(Records& records, const Exchange& exchange) {
  return first_domain_page<AnalyticsPageState>(records, exchange, analytics_page);
}

Answered handle_analytics_form(Records& records, Log& log, const Exchange& exchange) {
  AnalyticsPageState state;
  state.days = days_of(form_value(exchange.form, "days")).value_or(state.days);
  state.are_queries_hashed = exchange.snapshot->config.privacy.hash_queries;
  TRY(const LoadedDomain* domain, domain_of_form(records, exchange, analytics_page, state));
  int status = 200;
  if (auto figures = figures_of(records, domain->domain.name, state.days)) {
    const std::string action = form_value(exchange.form, "action");
    if (action.starts_with(kCsvAction) &&
        is_analytics_table(std::string_view(action).substr(kCsvAction.size())))
      return csv_response(*figures, std::string_view(action).substr(kCsvAction.size()), domain->domain.name);
    state.analytics = std::move(*figures);
  } else {
    log.write(Log::Level::error, "store failed", {{"reason", figures.error().text}});
    state.wrong = "the server's store does not answer; try again";
    status = 503;
  }
  return html_response(analytics_page(exchange, *domain, state), status);
}

}  // namespace metafuse::service
