#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "service/api/handlers.h"
#include "service/api/operations.h"
#include "service/base/metrics.h"
#include "service/http/message.h"
#include "service/learning/evaluation_reports.h"
#include "service/learning/records.h"

// What operators' programs ask: /healthz, /readyz, /metrics, /v1/engines and /v1/evaluation.

namespace metafuse::service {

namespace {

/// Whether the sender may see how an engine does: who may ask it, and administrators, within the key's scope.
bool may_see(const Exchange& exchange, const std::string& engine) {
  const KeyConfig* const key = exchange.key;
  const Barrier barrier = exchange.snapshot->engines.barrier(key, engine);
  return barrier == Barrier::none || (barrier == Barrier::token && key != nullptr && key->has(Role::admin));
}

}  // namespace

std::vector<Metrics::EngineLatency> latencies_for(const Exchange& exchange, const Metrics& metrics) {
  auto out = metrics.engine_latencies();
  std::erase_if(out, [&](const auto& one) { return !may_see(exchange, one.engine); });
  return out;
}

Answered handle_get_evaluation(Records& records, Metrics& metrics, const Exchange& exchange) {
  JsonObject domains;
  for (const LoadedDomain* domain : exchange.domains()) {
    const std::string& name = domain->domain.name;
    const auto report = records.reports.read(exchange.snapshot->config.reports, name);
    if (!report) return fail(Code::internal, report.error().text);
    domains[name] = to_json(**report);
  }
  JsonArray engines;
  for (const auto& engine : latencies_for(exchange, metrics))
    engines.push_back(JsonObject{{"engine", engine.engine},
                                 {"lists", engine.lists},
                                 {"mean_seconds", engine.mean_seconds},
                                 {"p95_seconds_at_most", engine.p95_seconds}});
  return json_response({{"domains", std::move(domains)}, {"engines", std::move(engines)}});
}

std::vector<fetchers::EngineHealth> engines_for(const Operations& operations, const Exchange& exchange) {
  std::set<std::string> asked;
  for (const LoadedDomain* domain : exchange.domains())
    for (const templates::SearchTemplate& row : domain->domain.templates)
      asked.insert(row.engines.begin(), row.engines.end());
  auto out = operations.engines();
  std::erase_if(out, [&](const fetchers::EngineHealth& engine) {
    return !may_see(exchange, engine.engine) || !asked.contains(engine.engine);
  });
  return out;
}

Answered handle_get_engines(Operations& operations, const Exchange& exchange) {
  JsonArray engines;
  for (const fetchers::EngineHealth& engine : engines_for(operations, exchange)) {
    const bool is_broken = engine.state != fetchers::HealthState::works;
    JsonObject one{{"engine", engine.engine},
                   {"state", fetchers::name_of(engine.state)},
                   {"is_suspected", engine.is_suspected},
                   {"is_learned", engine.is_learned},
                   {"answers", engine.answers}};
    if (is_broken) one["sign"] = fetchers::words_of(engine.sign);
    if (is_broken) one["since"] = engine.since;
    if (engine.last > 0) one["last_answer"] = engine.last;
    if (engine.usual_results) one["usual_results"] = *engine.usual_results;
    engines.push_back(std::move(one));
  }
  return json_response({{"engines", std::move(engines)}});
}

HttpResponse handle_healthz() {
  return make_response(200, "text/plain; charset=utf-8", "OK\n");
}

HttpResponse handle_readyz(Operations& operations, const Exchange& exchange) {
  if (operations.is_draining()) return make_response(503, "text/plain; charset=utf-8", "draining\n");
  std::string text = "ready\n" + operations.troubles();
  // where searching needs a key, the names of domains are not public
  if (!exchange.snapshot->config.needs_key) text += Operations::versions(exchange.domains());
  return make_response(200, "text/plain; charset=utf-8", std::move(text));
}

HttpResponse handle_metrics(Operations& operations, const Exchange& exchange) {
  return make_response(200, "text/plain; version=0.0.4; charset=utf-8",
                       operations.metrics_text(*exchange.snapshot));
}

}  // namespace metafuse::service
