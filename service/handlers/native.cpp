#include "core/json.h"
#include "service/answers/dialects.h"
#include "service/errors.h"
#include "service/fusing/fusing.h"
#include "service/handlers/handlers.h"
#include "service/http/request_body.h"
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

HttpResponse handle_fuse(Searcher& searcher, const Exchange& exchange) {
  const std::string& text = exchange.request.body;
  if (text.size() > kMaxFuseBytes) return error_response(Dialect::native, 413, "a body has 4 MiB at most");
  const FusingPlace place{exchange.snapshot.get(),
                          [&](SharedAnswer answer, std::size_t limit, ShownResults& shown) {
                            return searcher.show_fused(exchange, std::move(answer), limit, shown);
                          }};
  if (media_type(exchange.request.header("Content-Type")) == "application/x-ndjson")
    return make_response(200, "application/x-ndjson", fuse_lines(text, place));
  const auto body = json_body(exchange.request);
  if (!body) return error_response(Dialect::native, 400, body.error().text);
  const auto answer = fuse_request(*body, place);
  if (!answer) return error_response(Dialect::native, status_of(answer.error().code), answer.error().text);
  return make_response(200, "application/json", to_text(*answer));
}

}  // namespace metafuse::service
