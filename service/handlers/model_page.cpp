#include "service/answers/model_page.h"

#include <string>
#include <utility>

#include "core/json.h"
#include "service/app.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/head.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kActivate = "activate-";

bool is_off(App& app) {
  return app.store() == nullptr || app.model_versions() == nullptr;
}

/// What an action's answer says, for people: its own sentence, or that it is done.
std::string sentence_of(const HttpResponse& response, const std::string& done) {
  const auto body = parse_json(response.body, "answer");
  if (!body || !body->is_object()) return done;
  for (const char* name : {"detail", "reason", "data"})
    if (const Json* text = body->as_object().if_contains(name); text != nullptr && text->is_string())
      return std::string(text->get_string());
  return done;
}

/// The page's buttons do what the routes of /v1/models do.
HttpResponse run_action(App& app, const Exchange& exchange, const KeyConfig& key, const std::string& action) {
  Exchange call = exchange;
  call.key = &key;
  call.request.body.clear();
  if (action == "retrain") return handle_retrain_model(app, call);
  if (action == "measure") return handle_measure_model(app, call);
  if (action == "previous") {
    call.request.body = to_text(JsonObject{{"previous", true}});
    return handle_activate_model(app, call);
  }
  if (action.starts_with(kActivate)) {
    call.request.body = to_text(JsonObject{{"version", action.substr(kActivate.size())}});
    return handle_activate_model(app, call);
  }
  return make_response(200, "application/json", "{}");  // only look
}

}  // namespace

HttpResponse handle_model_page(App& app, const Exchange& exchange) {
  ModelPageState state;
  state.is_off = is_off(app);
  return make_response(200, kHtml, model_page(*exchange.snapshot, state));
}

HttpResponse handle_model_form(App& app, const Exchange& exchange) {
  if (!exchange.snapshot->domains.contains(exchange.path_values.front()))
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  if (is_off(app)) return handle_model_page(app, exchange);
  if (media_type(exchange.request.header("Content-Type")) != "application/x-www-form-urlencoded")
    return error_response(Dialect::page, 415, "send the page's form");
  const auto fields = parse_form(exchange.request.body);
  if (!fields) return error_response(Dialect::page, 400, "the form is damaged");
  const auto [key, retry_after] = app.find_key(exchange, form_value(*fields, "key"));
  ModelPageState state;
  if (retry_after) {
    state.wrong = "too many wrong keys from this address; wait a moment";
    return make_response(429, kHtml, model_page(*exchange.snapshot, state));
  }
  if (key == nullptr || !key->has(Role::admin)) {
    state.wrong = "the key is not known or lacks the role admin";
    return make_response(403, kHtml, model_page(*exchange.snapshot, state));
  }
  const std::string action = form_value(*fields, "action");
  const HttpResponse done = run_action(app, exchange, *key, action);
  app.log().write(Log::Level::info, "form",
                  {{"route", exchange.route},
                   {"key", key->name},
                   {"action", action.substr(0, 64)},
                   {"status", done.status}});
  if (done.status != 200)
    state.wrong = sentence_of(done, "it failed");
  else if (action != "show")
    state.done = sentence_of(done, "Done and in use.");
  const auto snapshot = app.snapshot();
  auto models = domain_models(*snapshot, *app.model_versions(), *app.store());
  if (models)
    state.models = std::move(*models);
  else
    state.wrong = models.error().text;
  return make_response(done.status, kHtml, model_page(*snapshot, state));
}

}  // namespace metafuse::service
