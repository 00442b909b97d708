#include "service/pages/errors.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/text.h"
#include "service/pages/page.h"

namespace metafuse::service {
namespace {

/// The code that Dify's documentation of external knowledge proposes for a failure.
int dify_code_of(int status) {
  constexpr int kWrongKey = 1002;
  constexpr int kNoSuchKnowledge = 2001;
  if (status == 401 || status == 403) return kWrongKey;
  return status == 404 ? kNoSuchKnowledge : status;
}

std::string_view perplexity_type_of(int status) {
  if (status == 401 || status == 403) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

HttpResponse told_in(Dialect dialect, int status, const std::string& text, const Exchange* reader) {
  const auto json = [&](const JsonObject& body) {
    return make_response(status, "application/json", to_text(body) + "\n");
  };
  switch (dialect) {
    case Dialect::native:
      return problem_response(status, text);
    case Dialect::tavily:
      return json(JsonObject{{"detail", JsonObject{{"error", text}}}});
    case Dialect::searxng:
      return json(JsonObject{{"error", text}});
    case Dialect::mcp:
      return json(
          {{"jsonrpc", "2.0"}, {"id", nullptr}, {"error", JsonObject{{"code", -32000}, {"message", text}}}});
    case Dialect::openwebui:
      return json(JsonObject{{"detail", text}});
    case Dialect::dify:
      return json(JsonObject{{"error_code", dify_code_of(status)}, {"error_msg", text}});
    case Dialect::perplexity:
      return json(
          {{"error", JsonObject{{"message", text}, {"type", perplexity_type_of(status)}, {"code", status}}}});
    case Dialect::rerank:  // Cohere's clients read "message", Jina's "detail", those of TEI "error"
      return json(JsonObject{{"message", text}, {"detail", text}, {"error", text}});
    case Dialect::page:
      return html_response(error_page(reader, status, text), status);
    case Dialect::plain:
      break;
  }
  return make_response(status, "text/plain; charset=utf-8", text + "\n");
}

}  // namespace

HttpResponse error_response(Dialect dialect, int status, std::string_view text, const Exchange* reader) {
  HttpResponse response = told_in(dialect, status, to_valid_utf8(text), reader);
  if (status == 429 || status == 503) response.set("Retry-After", "1");
  if (status == 401)
    response.set("WWW-Authenticate", dialect == Dialect::page ? "Basic realm=\"metafuse\", charset=\"UTF-8\""
                                                              : "Bearer realm=\"metafuse\"");
  return response;
}

HttpResponse failure_response(Dialect dialect, const Exchange& exchange, Log& log, const Error& error) {
  const int status = status_of(error.code);
  if (status < 500) return error_response(dialect, status, error.text, &exchange);
  log.write(Log::Level::error, "a request failed", {{"route", exchange.route}, {"reason", error.text}});
  if (exchange.may(Role::admin)) return error_response(dialect, status, error.text, &exchange);
  return error_response(dialect, status,
                        status == 503 ? "something that this request needs does not answer; try again later"
                                      : "internal error; see the server's log",
                        &exchange);
}

HttpResponse refusal_response(Dialect dialect, const AccessRefusal& refusal, const Exchange* reader) {
  HttpResponse response = error_response(dialect, refusal.status, refusal.text, reader);
  if (refusal.retry_after_seconds)  // in whole seconds, at least one
    response.set("Retry-After",
                 std::to_string(static_cast<long>(std::ceil(std::max(1.0, *refusal.retry_after_seconds)))));
  return response;
}

Dialect dialect_of(const HttpRequest& request) {
  if (request.path.starts_with("/v1/")) return Dialect::native;
  if (request.path == "/mcp") return Dialect::mcp;
  if (request.path == "/search" && request.method == "POST" &&
      (!request.body.empty() || request.query.empty()) &&
      media_type(request.header("Content-Type")) == "application/json")
    return Dialect::tavily;
  return request.header("Accept").find("text/html") != std::string_view::npos ? Dialect::page
                                                                              : Dialect::plain;
}

int status_of(const std::variant<AccessRefusal, Error>& why) {
  const auto* refused = std::get_if<AccessRefusal>(&why);
  return refused != nullptr ? refused->status : status_of(std::get<Error>(why).code);
}

}  // namespace metafuse::service
