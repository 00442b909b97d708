#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/exchange.h"
#include "service/requests/search_parameters.h"
#include "service/searcher.h"

namespace metafuse::service {
namespace {

/// One server-sent event; JSON text holds no line ends, so one data line is enough.
std::string event(std::string_view name, const JsonObject& data) {
  return "event: " + std::string(name) + "\ndata: " + to_text(data) + "\n\n";
}

}  // namespace

HttpResponse stream_search(Searcher& searcher, Reply& reply, const Exchange& exchange) {
  const auto parameters = read_parameters(exchange.request.query, *exchange.snapshot);
  if (!parameters) return error_response(Dialect::native, 400, parameters.error().text);
  const auto body = [&](const SearchAnswer& answer, const ShownResults& shown) {
    return native_json(*exchange.snapshot, answer, shown, parameters->wants_explanation);
  };
  SearchEvents events;
  events.on_admitted = [&] { reply.begin(make_response(200, "text/event-stream; charset=utf-8", "")); };
  events.on_partial = [&](const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted) {
    JsonObject data = body(so_far, shown_results(so_far, parameters->first(), parameters->limit, {}));
    data["arrived"] = arrived;
    data["wanted"] = wanted;
    reply.write(event("partial", data));
  };
  const auto found =
      searcher.find(exchange, {parameters->search, parameters->first(), parameters->limit}, events);
  if (!reply.has_begun()) return refusal_response(Dialect::native, found.error());
  if (found)
    reply.write(event("final", body(*found->answer, found->shown)));
  else
    reply.write(event("error", JsonObject{{"detail", found.error().text}}));
  return {};
}

}  // namespace metafuse::service
