#include "service/operations.h"

#include "service/handlers/handlers.h"

namespace metafuse::service {

HttpResponse handle_healthz() {
  return make_response(200, "text/plain; charset=utf-8", "OK\n");
}

HttpResponse handle_readyz(Operations& operations) {
  if (operations.is_draining()) return make_response(503, "text/plain; charset=utf-8", "draining\n");
  return make_response(200, "text/plain; charset=utf-8", "ready\n" + operations.troubles());
}

HttpResponse handle_metrics(Operations& operations) {
  return make_response(200, "text/plain; version=0.0.4; charset=utf-8", operations.metrics_text());
}

}  // namespace metafuse::service
