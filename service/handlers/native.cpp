#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/template_saving.h"
#include "service/http/message.h"
#include "service/requests/native_request.h"
#include "service/searcher.h"

namespace metafuse::service {

HttpResponse handle_native_search(Searcher& searcher, const Exchange& exchange) {
  const auto body = json_body(exchange.request);
  if (!body) return error_response(Dialect::native, 400, body.error().text);
  const auto wanted = read_native_search(*body);
  if (!wanted) return error_response(Dialect::native, 400, wanted.error().text);
  return searcher.serve(
      exchange, Dialect::native, {wanted->search, wanted->first(), wanted->limit, wanted->sites},
      [&](FoundSearch& found) {
        return make_response(
            200, "application/json",
            to_text(native_json(*exchange.snapshot, *found.answer, found.shown, wanted->is_explained)));
      });
}

HttpResponse handle_get_templates(const Exchange& exchange) {
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
