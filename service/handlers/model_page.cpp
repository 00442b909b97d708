#include <string>
#include <utility>

#include "core/json.h"
#include "service/answers/learning_pages.h"
#include "service/base/log.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/head.h"
#include "service/learning/records.h"
#include "service/reloader.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kActivate = "activate-";

bool is_off(const Records& records) {
  return records.store == nullptr || records.model_versions == nullptr;
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
HttpResponse run_action(Reloader& reloader, Records& records, const Exchange& exchange,
                        const std::string& action) {
  Exchange call = exchange;
  call.request.body.clear();
  if (action == "retrain") return handle_retrain_model(reloader, records, call);
  if (action == "measure") return handle_measure_model(records, call);
  if (action == "previous") {
    call.request.body = to_text(JsonObject{{"previous", true}});
    return handle_activate_model(reloader, records, call);
  }
  if (action.starts_with(kActivate)) {
    call.request.body = to_text(JsonObject{{"version", action.substr(kActivate.size())}});
    return handle_activate_model(reloader, records, call);
  }
  return make_response(200, "application/json", "{}");  // only look
}

}  // namespace

HttpResponse handle_model_page(Records& records, const Exchange& exchange) {
  ModelPageState state;
  state.is_off = is_off(records);
  return make_response(200, kHtml, model_page(*exchange.snapshot, state));
}

HttpResponse handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange) {
  if (!exchange.snapshot->domains.contains(exchange.path_values.front()))
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  if (is_off(records)) return handle_model_page(records, exchange);
  ModelPageState state;
  if (exchange.refused_action) {
    state.wrong = exchange.refused_action->text;
    return make_response(exchange.refused_action->status, kHtml, model_page(*exchange.snapshot, state));
  }
  const std::string action = form_value(exchange.form, "action");
  const HttpResponse done = run_action(reloader, records, exchange, action);
  log.write(Log::Level::info, "form",
            {{"route", exchange.route},
             {"key", exchange.key->name},
             {"action", action.substr(0, 64)},
             {"status", done.status}});
  if (done.status != 200)
    state.wrong = sentence_of(done, "it failed");
  else if (action != "show")
    state.done = sentence_of(done, "Done and in use.");
  const auto snapshot = reloader.snapshot();
  auto models = domain_models(*snapshot, *records.model_versions, *records.store);
  if (models)
    state.models = std::move(*models);
  else
    state.wrong = models.error().text;
  return make_response(done.status, kHtml, model_page(*snapshot, state));
}

}  // namespace metafuse::service
