#include "service/app.h"
#include "service/handlers/handlers.h"

namespace metafuse::service {

HttpResponse handle_healthz(App&, const Exchange&) {
  return make_response(200, "text/plain; charset=utf-8", "OK\n");
}

HttpResponse handle_readyz(App& app, const Exchange&) {
  if (app.is_draining()) return make_response(503, "text/plain; charset=utf-8", "draining\n");
  return make_response(200, "text/plain; charset=utf-8", "ready\n");
}

HttpResponse handle_metrics(App& app, const Exchange&) {
  app.metrics().set("metafuse_workers_running", static_cast<double>(app.pool().running()));
  app.metrics().set("metafuse_workers_queue", static_cast<double>(app.pool().queued()));
  const auto set = [&](std::string_view name, std::size_t value) {
    app.metrics().set(name, static_cast<double>(value));
  };
  set("metafuse_cache_entries", app.cache().size());
  set("metafuse_cache_bytes", app.cache().bytes());
  set("metafuse_rendered_entries", app.rendered().size());
  set("metafuse_rendered_bytes", app.rendered().bytes());
  if (const auto connections = app.connections()) {
    set("metafuse_connections_open", connections->open);
    set("metafuse_connections_busy", connections->busy);
    set("metafuse_connections_accepted_total", connections->accepted);
    set("metafuse_connections_refused_total", connections->refused);
    set("metafuse_connections_timed_out_total", connections->timed_out);
  }
  return make_response(200, "text/plain; version=0.0.4; charset=utf-8", app.metrics().text());
}

}  // namespace metafuse::service
