#include "service/operations.h"

#include <string_view>
#include <utility>

namespace metafuse::service {

void Operations::attach(Sockets sockets) {
  const std::lock_guard lock(sockets_mutex_);
  sockets_ = std::move(sockets);
}

void Operations::set_limits(const LimitsConfig& limits) {
  const std::lock_guard lock(sockets_mutex_);
  if (sockets_.set_limits) sockets_.set_limits(limits);
}

std::string Operations::metrics_text() {
  const auto set = [&](std::string_view name, std::size_t value) {
    metrics_.set(name, static_cast<double>(value));
  };
  set("metafuse_workers_running", pool_.running());
  set("metafuse_workers_queue", pool_.queued());
  set("metafuse_cache_entries", searcher_.cache().size());
  set("metafuse_cache_bytes", searcher_.cache().bytes());
  set("metafuse_rendered_entries", searcher_.rendered().size());
  set("metafuse_rendered_bytes", searcher_.rendered().bytes());
  const std::lock_guard lock(sockets_mutex_);
  if (sockets_.counts) {
    const ConnectionCounts connections = sockets_.counts();
    set("metafuse_connections_open", connections.open);
    set("metafuse_connections_busy", connections.busy);
    set("metafuse_connections_accepted_total", connections.accepted);
    set("metafuse_connections_refused_total", connections.refused);
    set("metafuse_connections_timed_out_total", connections.timed_out);
  }
  return metrics_.text();
}

}  // namespace metafuse::service
