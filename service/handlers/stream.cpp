#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/app.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/common_headers.h"
#include "service/requests/search_parameters.h"
#include "service/search/expansion.h"

namespace metafuse::service {
namespace {

/// One server-sent event; JSON text holds no line ends, so one data line is enough.
std::string event(std::string_view name, const JsonObject& data) {
  return "event: " + std::string(name) + "\ndata: " + to_text(data) + "\n\n";
}

}  // namespace

void stream_search(App& app, const Exchange& exchange, Responder& responder) {
  const auto refuse = [&](int status, const std::string& text) {
    app.answer(exchange, error_response(Dialect::native, status, text), responder);
  };
  const auto parameters = read_parameters(exchange.request.query, *exchange.snapshot);
  if (!parameters) return refuse(400, parameters.error().text);
  if (const auto queries = expand_request(*exchange.snapshot, parameters->search); !queries)
    return refuse(status_of(queries.error().code), queries.error().text);
  if (auto refused = app.over_quota(Dialect::native, exchange, parameters->search))
    return app.answer(exchange, std::move(*refused), responder);
  HttpResponse head = make_response(200, "text/event-stream; charset=utf-8", "");
  add_common_headers(exchange, head);
  responder.begin(std::move(head));
  std::size_t bytes = 0;
  const auto send = [&](std::string piece) {
    bytes += piece.size();
    responder.write(std::move(piece));
  };
  const auto body = [&](const SearchAnswer& answer, ShownResults& shown) {
    return native_json(*exchange.snapshot, answer, shown, parameters->wants_explanation);
  };
  const auto on_partial = [&](const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted) {
    ShownResults shown = shown_results(so_far, parameters->first(), parameters->limit, {});
    JsonObject data = body(so_far, shown);
    data["arrived"] = arrived;
    data["wanted"] = wanted;
    send(event("partial", data));
  };
  const auto answer = app.search(exchange, parameters->search, {}, on_partial);
  if (answer) {
    ShownResults shown = shown_results(**answer, parameters->first(), parameters->limit, {});
    app.remember(exchange, **answer, shown);
    send(event("final", body(**answer, shown)));
  } else {
    send(event("error", JsonObject{{"detail", answer.error().text}}));
  }
  responder.end();
  app.count(exchange, 200, bytes);
}

}  // namespace metafuse::service
