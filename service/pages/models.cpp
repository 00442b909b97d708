#include <string>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/json_members.h"
#include "service/api/handlers.h"
#include "service/base/log.h"
#include "service/config/reloader.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/learning/interleaving.h"
#include "service/learning/records.h"
#include "service/pages/errors.h"
#include "service/pages/handlers.h"
#include "service/pages/learning_pages.h"

// /models: the page of models. Its buttons call the handlers of /v1/models.

namespace metafuse::service {
namespace {

constexpr std::string_view kActivate = "activate-";

/// The message for people in an action's answer: its own sentence, or else "Done and in use."
std::string sentence_of(const HttpResponse& response) {
  const auto body = parse_json(response.body, "answer");
  if (!body) return "Done and in use.";
  const JsonMembers members(*body);
  if (const bool* again = members.flag("is_champion_again"); again != nullptr && *again)
    return "Nothing changed since the last training: the same judgments and clicks make the champion again.";
  for (const char* name : {"reason", "gain", "data"})
    if (const auto* text = members.text(name)) return std::string(*text);
  return "Done and in use.";
}

/// Runs the action of a button on the page by the handler of the same route of /v1/models.
Answered run_action(Reloader& reloader, Records& records, const Exchange& exchange,
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
  return json_response({});  // no action: only shows the state
}

}  // namespace

HttpResponse handle_model_page(Records& records, const Exchange& exchange) {
  ModelPageState state;
  state.is_off = !has_models(records);
  return html_response(model_page(exchange, state));
}

Answered handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange) {
  TRY_VOID(exchange.domain_in_path());
  if (!has_models(records)) return handle_model_page(records, exchange);
  ModelPageState state;
  if (exchange.refused_action) {
    state.wrong = exchange.refused_action->text;
    return html_response(model_page(exchange, state), exchange.refused_action->status);
  }
  const std::string action = form_value(exchange.form, "action");
  const Answered done = run_action(reloader, records, exchange, action);
  const int status = done ? 200 : status_of(done.error());
  log.write(Log::Level::info, "form",
            {{"route", exchange.route},
             {"key", exchange.key->name},
             {"action", action.substr(0, 64)},
             {"status", status}});
  if (!done)
    state.wrong = std::visit([](const auto& why) { return why.text; }, done.error());
  else if (action != "show")
    state.done = sentence_of(*done);
  Exchange now = exchange;
  now.snapshot = reloader.snapshot();
  auto models = domain_models(now.domains(), *records.model_versions, *records.store);
  if (models)
    state.models = std::move(*models);
  else
    state.wrong = models.error().text;
  return html_response(model_page(now, state), status);
}

}  // namespace metafuse::service
