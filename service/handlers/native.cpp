#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/app.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/template_saving.h"
#include "service/http/request_body.h"
#include "service/requests/native_request.h"

namespace metafuse::service {

HttpResponse handle_native_search(App& app, const Exchange& exchange) {
  if (media_type(exchange.request.header("Content-Type")) != "application/json")
    return error_response(Dialect::native, 415, "send application/json");
  const auto body = json_body(exchange.request);
  if (!body) return error_response(Dialect::native, 400, body.error().text);
  const auto wanted = read_native_search(*body);
  if (!wanted) return error_response(Dialect::native, 400, wanted.error().text);
  if (wanted->is_raw() && !exchange.may(Role::raw))
    return error_response(Dialect::native, 403, "raw variants need a key with the role raw");
  if (auto refused = app.over_quota(Dialect::native, exchange, wanted->search)) return std::move(*refused);
  const auto answer = app.search(exchange, wanted->search, wanted->sites);
  if (!answer) return error_response(Dialect::native, status_of(answer.error().code), answer.error().text);
  ShownResults shown = shown_results(**answer, wanted->first(), wanted->limit, wanted->sites);
  app.remember(exchange, **answer, shown);
  const JsonObject out = native_json(*exchange.snapshot, **answer, shown, wanted->is_explained);
  return app.finish_search(exchange, {wanted->search, *answer, std::move(shown), {}},
                           make_response(200, "application/json", to_text(out)));
}

HttpResponse handle_get_templates(App&, const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::native, 404, "no domain \"" + exchange.path_values.front() + "\"");
  HttpResponse response = make_response(200, "application/yaml", domain->text);
  const std::string etag = '"' + domain->etag + '"';
  response.set("ETag", etag);
  response.set("Cache-Control", "no-cache");
  if (names_etag(exchange.request.list("If-None-Match"), domain->etag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

}  // namespace metafuse::service
