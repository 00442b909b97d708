#include <algorithm>
#include <string>
#include <utility>

#include "core/json.h"
#include "fusion/training/auto_learner.h"
#include "fusion/training/learned_from.h"
#include "service/api/handlers.h"
#include "service/config/reloader.h"
#include "service/http/message.h"
#include "service/learning/caretaker.h"
#include "service/learning/interleaving.h"
#include "service/learning/promotion.h"
#include "service/learning/records.h"

// /v1/models: champions, challengers and versions of models, for administrators. The gate has checked the
// role of the key.

namespace metafuse::service {
bool has_models(const Records& records) {
  return records.store != nullptr && records.model_versions != nullptr;
}

namespace {

OrRefusal<void> check_store(const Records& records) {
  if (records.store != nullptr) return {};
  return refusal(404, "this server has no store; name one in its configuration (store)");
}

/// Whether models can be managed here.
OrRefusal<void> check_models(const Records& records) {
  TRY_VOID(check_store(records));
  if (records.model_versions == nullptr)
    return refusal(404, "this server has no folder of models; name one in its configuration (models)");
  return {};
}

/// The domain that the path names, if its models can be managed here.
OrRefusal<const LoadedDomain*> domain_with_models(const Records& records, const Exchange& exchange) {
  TRY_VOID(check_models(records));
  return exchange.domain_in_path();
}

JsonObject interleaving_json(const InterleavingScore& score) {
  return {{"champion", score.counts.champion},
          {"challenger", score.counts.challenger},
          {"ties", score.counts.ties},
          {"challenger_share", score.challenger_share},
          {"interval_95", JsonArray{score.low, score.high}},
          {"p", score.p}};
}

JsonObject story_json(const JudgedGain& gain, const LearningStory& story) {
  return {{"text", story.gain},    {"queries", gain.queries},
          {"before", gain.before}, {"after", gain.after},
          {"error", gain.error},   {"changes", JsonArray(story.changes.begin(), story.changes.end())}};
}

JsonObject state_json(const std::string& domain, const ModelState& state) {
  JsonArray versions;
  for (const ModelVersion& version : state.versions) {
    JsonObject shown = to_json(version);
    shown["is_champion"] = version.version == state.champion;
    shown["is_challenger"] = version.version == state.challenger;
    versions.emplace_back(std::move(shown));
  }
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
          {"measure", report.measure},
          {"champion", report.champion},
          {"challenger", report.challenger},
          {"p", report.p},
          {"level", report.level},
          {"is_better", report.is_better},
          {"reason", report.reason}};
}

/// What the model that serves was learned from, and what the domain's next one can start from. Other domains
/// are named as far as the key may use them.
void add_origins(const Exchange& exchange, const LoadedDomain& domain, JsonObject& out) {
  if (domain.model && !domain.is_model_prior) {
    if (auto choice = fusion::brief_choice(domain.model->training); !choice.empty())
      out["auto"] = std::move(choice);
    if (auto from = fusion::learned_from(domain.model->training); !from.empty())
      out["learned_from"] = std::move(from);
  }
  if (domain.prior == nullptr) return;
  JsonObject record = fusion::prior_record(*domain.prior);
  record["count"] = domain.prior->sources.size();
  JsonArray named;
  for (const LoadedDomain* known : exchange.domains())
    if (std::ranges::find(domain.prior->sources, known->domain.name) != domain.prior->sources.end())
      named.emplace_back(known->domain.name);
  record["models"] = std::move(named);
  out["other_domains"] = std::move(record);
}

}  // namespace

Answered handle_get_models(Records& records, const Exchange& exchange) {
  TRY_VOID(check_models(records));
  TRY(const auto all, domain_models(exchange.domains(), *records.model_versions, *records.store));
  JsonArray models;
  for (const DomainModels& domain : all) {
    JsonObject entry = state_json(domain.domain, domain.state);
    if (exchange.snapshot->config.learning.has_online_reranker)
      entry["online_examples"] =
          records.online_rerankers->steps(exchange.snapshot->domains.at(domain.domain));
    add_origins(exchange, exchange.snapshot->domains.at(domain.domain), entry);
    if (domain.score) entry["interleaving"] = interleaving_json(*domain.score);
    if (!domain.story.decision.empty()) entry["decision"] = domain.story.decision;
    if (domain.state.gain) entry["gain"] = story_json(*domain.state.gain, domain.story);
    models.emplace_back(std::move(entry));
  }
  return json_response(JsonObject{{"models", std::move(models)}});
}

Answered handle_activate_model(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_with_models(records, exchange));
  TRY(const auto body, fields_of(exchange.request, {"version", "previous"}));
  TRY(const bool is_back, flag_of(body, "previous"));
  const Json* version = body.if_contains("version");
  if ((version != nullptr && version->is_string()) == is_back)
    return refusal(400, "send {\"version\":\"...\"} or {\"previous\":true}");
  const std::string& name = domain->domain.name;
  ModelVersions& versions = *records.model_versions;
  TRY(const auto before, versions.state(name));
  TRY_VOID(is_back ? versions.revert(name) : versions.activate(name, std::string(version->get_string())));
  if (const auto loaded = reloader.reload(); !loaded) {
    // the model does not fit the current templates
    const auto restored = versions.restore(name, before);
    return refusal(409, loaded.error().text + (restored ? "" : "; and: " + restored.error().text));
  }
  TRY(const auto state, versions.state(name));
  return json_response(state_json(name, state));
}

Answered handle_retrain_model(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_with_models(records, exchange));
  TRY(const auto body, fields_of(exchange.request, {"learner"}));
  RetrainOptions options = retrain_options(*domain, exchange.snapshot->config.learning, records.unix_time());
  if (const Json* learner = body.if_contains("learner")) {
    if (!learner->is_string()) return refusal(400, "learner: send its name");
    options.learner = std::string(learner->get_string());
  }
  records.search_log->flush();
  TRY(const auto trained, retrain(*records.store, *records.model_versions, options));
  if (!trained.too_little.empty()) return refusal(409, trained.too_little);
  reloader.reload_soon();
  JsonObject out{{"version", trained.version},
                 {"is_champion_again", trained.is_champion_again},
                 {"data", trained.report.text()},
                 {"summary", trained.summary}};
  if (trained.gain) out["gain"] = gain_text(*trained.gain);
  return json_response(out);
}

Answered handle_measure_model(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_with_models(records, exchange));
  TRY(const auto state, records.model_versions->state(domain->domain.name));
  if (state.challenger.empty()) return refusal(409, no_challenger(domain->domain.name));
  TRY(const auto report, promote_if_better(*records.store, *records.model_versions, domain->domain.name,
                                           promotion_rules(*domain), false));
  return json_response(report_json(report));
}

Answered handle_reset_feedback(Records& records, const Exchange& exchange) {
  TRY_VOID(check_store(records));
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  TRY(const auto body, fields_of(exchange.request, {"clicks", "judgments", "online"}));
  TRY(const bool has_clicks, flag_of(body, "clicks"));
  TRY(const bool has_judgments, flag_of(body, "judgments"));
  TRY(const bool has_online, flag_of(body, "online"));
  if (!has_clicks && !has_judgments && !has_online)
    return refusal(400, "send {\"clicks\":true}, {\"judgments\":true}, {\"online\":true} or several");
  if (has_online) {
    TRY_VOID(check_models(records));
    TRY_VOID(records.online_rerankers->reset(*domain));
  }
  TRY(const auto removed, records.store->reset_feedback(domain->domain.name, has_clicks, has_judgments));
  records.note_judgments(domain->domain.name);
  return json_response({{"clicks", removed.clicks}, {"judgments", removed.judgments}});
}

}  // namespace metafuse::service
