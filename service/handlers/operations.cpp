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
  app.metrics().set("metafuse_cache_entries", static_cast<double>(app.cache().size()));
  return make_response(200, "text/plain; version=0.0.4; charset=utf-8", app.metrics().text());
}

}  // namespace metafuse::service
