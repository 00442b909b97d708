#include <chrono>
#include <exception>
#include <utility>

#include "service/access/access.h"
#include "service/app.h"
#include "service/errors.h"
#include "service/http/client_address.h"
#include "service/http/common_headers.h"

// What becomes of a request, from its arrival to the line in the log: access, limits, the route's handler.

namespace metafuse::service {
namespace {

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void App::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->snapshot = snapshot();
  exchange->arrived = clock().now();
  Match match = match_route(exchange->request.method, exchange->request.path);
  exchange->path_values = std::move(match.values);
  exchange->route = match.route != nullptr ? match.route->name : "none";
  const Dialect dialect = error_dialect(match.route, exchange->request);
  if (auto refusal = check_access(match.route, key_guard_, *exchange)) {
    metrics_.refused(refusal->reason);
    exchange->refused = refusal->reason;
    HttpResponse response = error_response(dialect, refusal->status, refusal->text);
    if (refusal->retry_after_seconds)
      response.set("Retry-After", retry_after_text(*refusal->retry_after_seconds));
    return answer(*exchange, std::move(response), *responder);
  }
  const auto wait = match.route != nullptr ? seconds_too_fast(*match.route, *exchange) : std::nullopt;
  if (wait) {
    metrics_.refused("rate");
    exchange->refused = "rate";
    HttpResponse response = error_response(dialect, 429, "too many requests from this address; slow down");
    response.set("Retry-After", retry_after_text(*wait));
    return answer(*exchange, std::move(response), *responder);
  }
  if (match.route != nullptr) {
    if (answer_rendered(*exchange, *responder)) return;
    return dispatch(*match.route, std::move(exchange), std::move(responder));
  }
  const bool is_known = !match.allowed.empty();
  if (is_known)
    if (auto preflight = preflight_answer(*exchange))
      return answer(*exchange, std::move(*preflight), *responder);
  HttpResponse response = error_response(dialect, is_known ? 405 : 404,
                                         is_known ? "no such method on this path" : "no such path");
  if (is_known) response.set("Allow", match.allowed);
  answer(*exchange, std::move(response), *responder);
}

void App::dispatch(const Route& route, std::shared_ptr<Exchange> exchange,
                   std::shared_ptr<Responder> responder) {
  if (route.where == Where::inline_thread) return run(route, *exchange, *responder);
  const auto give_up = [this, &route, exchange, responder] {
    metrics_.refused("overload");
    answer(*exchange,
           error_response(error_dialect(&route, exchange->request), 503,
                          "too much work waits already; try again in a second"),
           *responder);
  };
  const auto work = [this, &route, exchange, responder] { run(route, *exchange, *responder); };
  if (!pool_.try_run(work, give_up)) give_up();
}

void App::run(const Route& route, const Exchange& exchange, Responder& responder) {
  std::string failure;
  try {
    if (route.stream != nullptr) return route.stream(*this, exchange, responder);
    return answer(exchange, route.handle(*this, exchange), responder);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  log_.write(Log::Level::error, "a mistake of ours", {{"route", route.name}, {"what", failure}});
  answer(exchange,
         error_response(error_dialect(&route, exchange.request), 500, "a mistake of ours; it is in the log"),
         responder);
}

void App::answer(const Exchange& exchange, HttpResponse response, Responder& responder) {
  add_common_headers(exchange, response);
  count(exchange, response.status, response.body_bytes());
  responder.send(std::move(response));
}

void App::count(const Exchange& exchange, int status, std::size_t bytes) {
  const double seconds = seconds_of(clock().now() - exchange.arrived);
  metrics_.request(exchange.route, status, seconds);
  if (exchange.route == "healthz" || exchange.route == "readyz" || exchange.route == "metrics") return;
  log_.request({.route = exchange.route,
                .method = exchange.request.method,
                .status = status,
                .seconds = seconds,
                .bytes = bytes,
                .key = exchange.key == nullptr ? std::string_view() : std::string_view(exchange.key->name),
                .refused = exchange.refused,
                .trace = exchange.traceparent});
}

KeyGuard::Answer App::find_key(const Exchange& exchange, std::string_view presented) {
  const KeyGuard::Answer found = key_guard_.find(exchange.snapshot->config.keys, presented,
                                                 address_prefix(exchange.client), clock().now());
  if (found.key == nullptr) metrics_.refused(found.retry_after_seconds ? "key_rate" : "bad_key");
  return found;
}

std::optional<double> App::seconds_too_fast(const Route& route, const Exchange& exchange) {
  if (route.access == Access::open || exchange.key != nullptr) return std::nullopt;
  const Admission admission = limiter_.take(address_prefix(exchange.client), clock().now());
  if (admission.is_admitted) return std::nullopt;
  return admission.retry_after_seconds;
}

}  // namespace metafuse::service
