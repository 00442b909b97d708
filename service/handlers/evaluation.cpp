#include "core/json.h"
#include "service/answers/learning_pages.h"
#include "service/base/metrics.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/learning/evaluation_reports.h"

namespace metafuse::service {
namespace {

const LoadedDomain* wanted_domain(const Exchange& exchange) {
  return exchange.snapshot->find_domain(exchange.request.parameter("domain").value_or(""));
}

}  // namespace

HttpResponse handle_get_evaluation(Metrics& metrics, Log& log, const Exchange& exchange) {
  JsonObject domains;
  for (const auto& [name, domain] : exchange.snapshot->domains) {
    const auto report = read_evaluation_report(exchange.snapshot->config.reports, name);
    if (!report)
      return failure_response(Dialect::native, exchange, log, fail(Code::internal, report.error().text));
    domains[name] = to_json(*report);
  }
  JsonArray engines;
  for (const auto& engine : metrics.engine_latencies())
    engines.push_back(JsonObject{{"engine", engine.engine},
                                 {"lists", engine.lists},
                                 {"mean_seconds", engine.mean_seconds},
                                 {"p95_seconds_at_most", engine.p95_seconds}});
  return make_response(200, "application/json",
                       to_text(JsonObject{{"domains", std::move(domains)}, {"engines", std::move(engines)}}));
}

HttpResponse handle_evaluation_page(Metrics& metrics, Log& log, const Exchange& exchange) {
  const LoadedDomain* domain = wanted_domain(exchange);
  if (domain == nullptr) return error_response(Dialect::page, 404, "no such domain");
  const auto report = read_evaluation_report(exchange.snapshot->config.reports, domain->domain.name);
  const std::string problem = report ? "" : "the reports cannot be read; the log says why";
  if (!report)
    log.write(Log::Level::error, "reports cannot be read",
              {{"domain", domain->domain.name}, {"reason", report.error().text}});
  return make_response(200, "text/html; charset=utf-8",
                       evaluation_page(*exchange.snapshot, *domain, report ? *report : EvaluationReport(),
                                       metrics.engine_latencies(), problem));
}

}  // namespace metafuse::service
