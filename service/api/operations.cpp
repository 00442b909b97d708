#include "service/api/operations.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace metafuse::service {

void Operations::attach(Sockets sockets) {
  const std::lock_guard lock(sockets_mutex_);
  sockets_ = std::move(sockets);
}

void Operations::set_limits(const LimitsConfig& limits) {
  const std::lock_guard lock(sockets_mutex_);
  if (sockets_.set_limits) sockets_.set_limits(limits);
}

namespace {

bool store_fails(const Records& records) {
  return records.store != nullptr && !records.store->trouble().empty();
}

}  // namespace

std::string Operations::troubles() const {
  std::string out;
  if (store_fails(sources_.records))
    out += "store: does not answer or takes no changes; searches are not stored, feedback is refused\n";
  const Metrics& metrics = sources_.telemetry.metrics;
  if (const double failing = metrics.gauge(kFailingIndexes); failing > 0)
    out += fmt::format("indexes: {:.0f} cannot be brought up to date; the log says why\n", failing);
  if (metrics.gauge(kReloadFailed) > 0)
    out += "configuration: the last reload was refused, so the settings of before serve; the log says why\n";
  std::size_t broken = 0;
  const auto engines = this->engines();
  for (const fetchers::EngineHealth& engine : engines)
    broken += engine.state != fetchers::HealthState::works ? 1 : 0;
  if (broken > 0)
    out += fmt::format("engines: {} of {} do not answer as they used to; GET /v1/engines says which\n",
                       broken, engines.size());
  return out;
}

std::string Operations::versions(const std::vector<const LoadedDomain*>& domains) {
  std::string out;
  for (const LoadedDomain* domain : domains)
    out += fmt::format("serves {}: templates {}, model {}\n", domain->domain.name, domain->etag.substr(0, 12),
                       domain->model ? domain->served_version() : "rrf");
  return out;
}

void Operations::show_engine_health() {
  std::array<std::string_view, fetchers::kHealthStates> states;
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = fetchers::name_of(static_cast<fetchers::HealthState>(i));
  std::map<std::string, std::string_view, std::less<>> shown;
  for (const fetchers::EngineHealth& engine : engines())
    shown[engine.engine] = fetchers::name_of(engine.state);
  sources_.telemetry.metrics.engine_health(shown, states);
}

std::string Operations::metrics_text(const Snapshot& snapshot) {
  const auto set = [&](std::string_view name, std::size_t value) {
    sources_.telemetry.metrics.set(name, static_cast<double>(value));
  };
  set("metafuse_workers_running", sources_.pool.running());
  set("metafuse_workers_queue", sources_.pool.queued());
  set("metafuse_cache_entries", sources_.source.cache().size());
  set("metafuse_cache_bytes", sources_.source.cache().bytes());
  set("metafuse_rendered_entries", sources_.rendered.size());
  set("metafuse_rendered_bytes", sources_.rendered.bytes());
  set("metafuse_log_lines_dropped_total", sources_.telemetry.log.dropped());
  if (const auto& search_log = sources_.records.search_log; search_log != nullptr) {
    set("metafuse_searches_stored_total", search_log->written());
    set("metafuse_searches_dropped_total", search_log->dropped());
    set("metafuse_store_available", store_fails(sources_.records) ? 0 : 1);
  }
  const std::vector<std::string>& names = snapshot.engines.names;
  sources_.telemetry.metrics.keep_breakers({names.begin(), names.end()});
  show_engine_health();
  if (const auto& traces = sources_.telemetry.traces; traces != nullptr) {
    set("metafuse_spans_sent_total", traces->sent());
    set("metafuse_spans_dropped_total", traces->dropped());
  }
  const std::lock_guard lock(sockets_mutex_);
  if (sockets_.counts) {
    const ConnectionCounts connections = sockets_.counts();
    set("metafuse_connections_open", connections.open);
    set("metafuse_connections_busy", connections.busy);
    set("metafuse_connections_accepted_total", connections.accepted);
    set("metafuse_connections_refused_total", connections.refused);
    set("metafuse_connections_timed_out_total", connections.timed_out);
    set("metafuse_connections_displaced_total", connections.displaced);
  }
  return sources_.telemetry.metrics.text();
}

}  // namespace metafuse::service
