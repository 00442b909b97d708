#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/json.h"
#include "service/answers/learning_pages.h"
#include "service/base/log.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/learning/caretaker.h"
#include "service/learning/domain_models.h"
#include "service/learning/promotion.h"
#include "service/learning/records.h"
#include "service/reloader.h"

// /models and /v1/models: champions, challengers and versions of models, for administrators. The gate has
// checked the role.

namespace metafuse::service {
namespace {

HttpResponse refuse(int status, std::string_view text) {
  return error_response(Dialect::native, status, text);
}
HttpResponse refuse(const Error& error) {
  return refuse(status_of(error.code), error.text);
}
HttpResponse accept(const JsonObject& body) {
  return make_response(200, "application/json", to_text(body));
}

/// The response that says why models cannot be managed here, or nothing.
std::optional<HttpResponse> model_refusal(const Records& records, const Exchange& exchange) {
  if (records.store == nullptr || records.model_versions == nullptr)
    return refuse(404, "this server has no store or no folder of models; name them in its configuration");
  if (!exchange.path_values.empty() && !exchange.snapshot->domains.contains(exchange.path_values.front()))
    return refuse(404, "no domain \"" + exchange.path_values.front() + "\"");
  return std::nullopt;
}

JsonObject interleaving_json(const InterleavingScore& score) {
  return {{"champion", score.counts.champion},
          {"challenger", score.counts.challenger},
          {"ties", score.counts.ties},
          {"challenger_share", score.challenger_share},
          {"interval_95", JsonArray{score.low, score.high}},
          {"p", score.p}};
}

JsonObject state_json(const std::string& domain, const ModelState& state) {
  JsonArray versions;
  for (const ModelVersion& version : state.versions)
    versions.emplace_back(JsonObject{{"version", version.version},
                                     {"learner", version.learner},
                                     {"origin", version.origin},
                                     {"at", version.at},
                                     {"is_champion", version.is_champion},
                                     {"is_challenger", version.is_challenger}});
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"name", domain},
          {"champion", or_null(state.champion)},
          {"challenger", or_null(state.challenger)},
          {"previous", state.history.empty() ? Json() : or_null(state.history.back())},
          {"can_revert", !state.history.empty()},
          {"promotion_tests", state.tests},
          {"is_promotion_paused", state.is_promotion_paused},
          {"versions", std::move(versions)}};
}

/// The body's fields; none for an empty body. Fields other than the known ones are refused.
Result<JsonObject> fields_of(const HttpRequest& request, std::initializer_list<std::string_view> known) {
  if (request.body.empty()) return JsonObject();
  auto body = json_body(request);
  if (!body) return body;
  for (const auto& [name, value] : *body)
    if (std::find(known.begin(), known.end(), std::string_view(name)) == known.end())
      return fail(Code::usage, std::string(name) + ": unknown");
  return body;
}

Result<bool> flag_of(const JsonObject& body, std::string_view name) {
  const Json* value = body.if_contains(name);
  if (value == nullptr) return false;
  if (!value->is_bool()) return fail(Code::usage, std::string(name) + ": send true or false");
  return value->get_bool();
}

JsonObject report_json(const PromotionReport& report) {
  return {{"queries", report.queries},
          {"measure", "ndcg_cut_10"},
          {"champion", report.champion},
          {"challenger", report.challenger},
          {"p", report.p},
          {"level", report.level},
          {"is_better", report.is_better},
          {"reason", report.reason}};
}

}  // namespace

HttpResponse handle_get_models(Records& records, const Exchange& exchange) {
  if (auto refused = model_refusal(records, exchange)) return std::move(*refused);
  const auto all = domain_models(exchange.domains(), *records.model_versions, *records.store);
  if (!all) return refuse(all.error());
  JsonArray models;
  for (const DomainModels& domain : *all) {
    JsonObject entry = state_json(domain.domain, domain.state);
    if (exchange.snapshot->config.learning.has_online_reranker)
      entry["online_examples"] =
          records.online_rerankers->steps(exchange.snapshot->domains.at(domain.domain));
    if (domain.score) entry["interleaving"] = interleaving_json(*domain.score);
    models.emplace_back(std::move(entry));
  }
  return accept({{"models", std::move(models)}});
}

HttpResponse handle_activate_model(Reloader& reloader, Records& records, const Exchange& exchange) {
  if (auto refused = model_refusal(records, exchange)) return std::move(*refused);
  const auto body = fields_of(exchange.request, {"version", "previous"});
  if (!body) return refuse(body.error());
  const auto is_back = flag_of(*body, "previous");
  if (!is_back) return refuse(is_back.error());
  const Json* version = body->if_contains("version");
  if ((version != nullptr && version->is_string()) == *is_back)
    return refuse(400, "send {\"version\":\"...\"} or {\"previous\":true}");
  const std::string& domain = exchange.path_values.front();
  ModelVersions& versions = *records.model_versions;
  const auto before = versions.state(domain);
  if (!before) return refuse(before.error());
  const auto done =
      *is_back ? versions.revert(domain) : versions.activate(domain, std::string(version->get_string()));
  if (!done) return refuse(done.error());
  if (const auto loaded = reloader.reload(); !loaded) {
    // The model does not fit the current templates, so the previous one is restored.
    const auto restored =
        *is_back ? versions.activate(domain, before->champion) : versions.revert(domain, false);
    return refuse(409, loaded.error().text + (restored ? "" : "; and: " + restored.error().text));
  }
  const auto state = versions.state(domain);
  if (!state) return refuse(state.error());
  return accept(state_json(domain, *state));
}

HttpResponse handle_retrain_model(Reloader& reloader, Records& records, const Exchange& exchange) {
  if (auto refused = model_refusal(records, exchange)) return std::move(*refused);
  const auto body = fields_of(exchange.request, {"learner"});
  if (!body) return refuse(body.error());
  const LoadedDomain& domain = exchange.snapshot->domains.at(exchange.path_values.front());
  RetrainOptions options = retrain_options(domain, exchange.snapshot->config.learning, records.unix_time());
  if (const Json* learner = body->if_contains("learner")) {
    if (!learner->is_string()) return refuse(400, "learner: send its name");
    options.learner = std::string(learner->get_string());
  }
  records.search_log->flush();
  const auto trained = retrain(*records.store, *records.model_versions, options);
  if (!trained)
    return trained.error().code == Code::bad_data ? refuse(409, trained.error().text)
                                                  : refuse(trained.error());
  reloader.reload_soon();
  return accept({{"version", trained->version},
                 {"is_champion_again", trained->is_champion_again},
                 {"data", trained->report.text()},
                 {"summary", trained->summary}});
}

HttpResponse handle_measure_model(Records& records, const Exchange& exchange) {
  if (auto refused = model_refusal(records, exchange)) return std::move(*refused);
  const auto report =
      promote_if_better(*records.store, *records.model_versions, exchange.path_values.front(), {}, false);
  if (!report)
    return report.error().code == Code::usage ? refuse(409, report.error().text) : refuse(report.error());
  return accept(report_json(*report));
}

HttpResponse handle_reset_feedback(Records& records, const Exchange& exchange) {
  if (auto refused = model_refusal(records, exchange)) return std::move(*refused);
  const auto body = fields_of(exchange.request, {"clicks", "judgments", "online"});
  if (!body) return refuse(body.error());
  const auto clicks = flag_of(*body, "clicks");
  if (!clicks) return refuse(clicks.error());
  const auto judgments = flag_of(*body, "judgments");
  if (!judgments) return refuse(judgments.error());
  const auto online = flag_of(*body, "online");
  if (!online) return refuse(online.error());
  if (!*clicks && !*judgments && !*online)
    return refuse(400, "send {\"clicks\":true}, {\"judgments\":true}, {\"online\":true} or several");
  const LoadedDomain& domain = exchange.snapshot->domains.at(exchange.path_values.front());
  if (*online)
    if (const auto forgotten = records.online_rerankers->reset(domain); !forgotten)
      return refuse(forgotten.error());
  const auto removed = records.store->reset_feedback(exchange.path_values.front(), *clicks, *judgments);
  if (!removed) return refuse(removed.error());
  return accept({{"clicks", removed->clicks}, {"judgments", removed->judgments}});
}

namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kActivate = "activate-";

bool is_off(const Records& records) {
  return records.store == nullptr || records.model_versions == nullptr;
}

/// The message for people in an action's response: its own sentence, or else `done`.
std::string sentence_of(const HttpResponse& response, const std::string& done) {
  const auto body = parse_json(response.body, "answer");
  if (!body || !body->is_object()) return done;
  for (const char* name : {"detail", "reason", "data"})
    if (const Json* text = body->as_object().if_contains(name); text != nullptr && text->is_string())
      return std::string(text->get_string());
  return done;
}

/// Runs the action of a button on the page by the handler of the same route of /v1/models.
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
  return make_response(200, "application/json", "{}");  // no action: only shows the state
}

}  // namespace

HttpResponse handle_model_page(Records& records, const Exchange& exchange) {
  ModelPageState state;
  state.is_off = is_off(records);
  return make_response(200, kHtml, model_page(exchange, state));
}

HttpResponse handle_model_form(Reloader& reloader, Records& records, Log& log, const Exchange& exchange) {
  if (!exchange.snapshot->domains.contains(exchange.path_values.front()))
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  if (is_off(records)) return handle_model_page(records, exchange);
  ModelPageState state;
  if (exchange.refused_action) {
    state.wrong = exchange.refused_action->text;
    return make_response(exchange.refused_action->status, kHtml, model_page(exchange, state));
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
  Exchange now = exchange;
  now.snapshot = reloader.snapshot();
  auto models = domain_models(now.domains(), *records.model_versions, *records.store);
  if (models)
    state.models = std::move(*models);
  else
    state.wrong = models.error().text;
  return make_response(done.status, kHtml, model_page(now, state));
}

}  // namespace metafuse::service
