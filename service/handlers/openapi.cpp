#include <vector>

#include "core/json.h"
#include "service/handlers/api_description.h"
#include "service/handlers/handlers.h"

// /openapi.json and /docs: the description of the API, made from the table of routes.

namespace metafuse::service {
namespace {

/// The description, made once, because the table of routes never changes.
const JsonObject& described_api() {
  static const JsonObject description = [] {
    std::vector<DescribedRoute> described;
    for (const Route& route : routes())
      described.push_back({route.method, route.pattern, route.summary, &route.rules});
    return api_description(described);
  }();
  return description;
}

}  // namespace

HttpResponse handle_openapi(const Exchange& exchange) {
  JsonObject out = described_api();
  out["servers"] = JsonArray{JsonObject{{"url", exchange.origin()}, {"description", "This server"}}};
  return make_response(200, "application/json", to_text(out));
}

HttpResponse handle_docs() {
  return make_response(200, "text/html; charset=utf-8", api_page(described_api()));
}

}  // namespace metafuse::service
