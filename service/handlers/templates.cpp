#include "core/json.h"
#include "service/access/gate.h"
#include "service/answers/template_page.h"
#include "service/base/log.h"
#include "service/editing/template_editing.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/template_saving.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/learning/records.h"
#include "service/reloader.h"
#include "service/requests/native_request.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kEditorHtml = "text/html; charset=utf-8";
constexpr std::string_view kVersionAction = "version-";

/// Browsers send text areas with CRLF line ends.
std::string with_unix_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

bool some_key_may_write(const ServerConfig& config) {
  for (const KeyConfig& key : config.keys)
    if (key.has(Role::admin)) return true;
  return false;
}

TemplateEditorState state_of(const Records& records, const Exchange& exchange, const LoadedDomain& domain) {
  TemplateEditorState state;
  state.text = domain.text;
  state.etag = domain.etag;
  state.can_save = records.store != nullptr && some_key_may_write(exchange.snapshot->config);
  if (records.store != nullptr)
    if (auto versions = records.store->template_versions(domain.domain.name))
      state.versions = std::move(*versions);
  return state;
}

void show_preview(const Clock& clock, const Exchange& exchange, const LoadedDomain& domain, bool is_live,
                  TemplateEditorState& state) {
  const auto edited = edited_domain(*exchange.snapshot, domain, state.text);
  if (!edited) {
    state.messages = line_messages(edited.error());
    return;
  }
  SearchRequest request;
  request.text = state.query;
  auto preview = preview_templates(*exchange.snapshot, *edited, request, is_live, clock);
  if (preview)
    state.preview = std::move(*preview);
  else
    state.notice = preview.error().text;
}

void open_version(const Records& records, const LoadedDomain& domain, std::string_view number_text,
                  TemplateEditorState& state) {
  std::uint32_t number = 0;
  for (const char digit : number_text) {
    if (digit < '0' || digit > '9' || number > kMaxTemplateVersions) return;
    number = number * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  if (records.store == nullptr) return;
  auto version = records.store->find_template_version(domain.domain.name, number);
  if (!version || !*version) {
    state.notice = "there is no version " + std::to_string(number);
    return;
  }
  state.text = (*version)->text;
  state.notice = "version " + std::to_string(number) + " is open below; it is not saved yet";
}

int save(Reloader& reloader, Records& records, Log& log, const Exchange& exchange,
         TemplateEditorState& state) {
  const SaveOutcome outcome = save_templates(reloader, records, exchange.path_values.front(), state.text,
                                             state.etag, exchange.key->name);
  log.write(Log::Level::info, "form",
            {{"route", exchange.route},
             {"key", exchange.key->name},
             {"action", "save"},
             {"status", outcome.status}});
  if (outcome.status == 422)
    state.messages = line_messages(Error{Code::bad_config, outcome.text});
  else
    state.notice = outcome.status == 200 ? "Saved and in use." : "not saved: " + outcome.text;
  if (outcome.status == 200) state.etag = outcome.etag;
  return outcome.status;
}

JsonObject preview_json(const TemplatePreview& preview) {
  JsonArray expansions;
  for (const ExpandedQuery& query : preview.expansions)
    expansions.push_back(
        JsonObject{{"template", query.template_id}, {"engine", query.engine}, {"query", query.text}});
  JsonObject out{{"expansions", std::move(expansions)}};
  if (!preview.answer) return out;
  JsonArray lists;
  for (const auto& list : preview.answer->lists) {
    JsonArray urls;
    for (const Hit& hit : list.list.hits) urls.emplace_back(hit.url);
    lists.push_back(
        JsonObject{{"feature", list.query.feature_name()},
                   {"failure", list.has_failed() ? Json(fetchers::name_of(list.failure)) : Json(nullptr)},
                   {"urls", std::move(urls)}});
  }
  JsonArray fused;
  for (const FusedResult& result : preview.answer->results)
    fused.push_back(
        JsonObject{{"url", result.hit.url}, {"title", result.hit.title}, {"score", result.score}});
  out["lists"] = std::move(lists);
  out["fusion"] = preview.answer->fusion.method;
  out["results"] = std::move(fused);
  return out;
}

}  // namespace

HttpResponse handle_template_list(const Exchange& exchange) {
  return make_response(200, kEditorHtml, template_list_page(*exchange.snapshot));
}

HttpResponse handle_template_editor(Records& records, const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  return make_response(
      200, kEditorHtml,
      template_editor_page(*exchange.snapshot, *domain, state_of(records, exchange, *domain)));
}

HttpResponse handle_template_form(Reloader& reloader, Records& records, const Clock& clock, Log& log,
                                  const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  TemplateEditorState state = state_of(records, exchange, *domain);
  state.text = with_unix_line_ends(form_value(exchange.form, "text"));
  state.etag = form_value(exchange.form, "etag");
  state.query = form_value(exchange.form, "query");
  const std::string action = form_value(exchange.form, "action");
  int status = 200;
  if (exchange.refused_action) {
    status = exchange.refused_action->status;
    state.notice = (action == "save" ? "not saved: " : "") + exchange.refused_action->text;
  } else if (action == "save") {
    status = save(reloader, records, log, exchange, state);
  } else if (action.starts_with(kVersionAction)) {
    open_version(records, *domain, std::string_view(action).substr(kVersionAction.size()), state);
  } else {
    show_preview(clock, exchange, *domain, action == "live", state);
  }
  if (!state.messages.empty()) status = 422;
  if (status == 200 && action == "save") {
    const auto snapshot = reloader.snapshot();
    const LoadedDomain* saved = snapshot->find_domain(domain->domain.name);
    const TemplateEditorState fresh = state_of(records, exchange, *saved);
    state.versions = fresh.versions;
    return make_response(200, kEditorHtml, template_editor_page(*snapshot, *saved, state));
  }
  return make_response(status, kEditorHtml, template_editor_page(*exchange.snapshot, *domain, state));
}

HttpResponse handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange) {
  const std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty())
    return error_response(Dialect::native, 428, "send If-Match with the ETag of the file that was edited");
  return saved_response(save_templates(reloader, records, exchange.path_values.front(), exchange.request.body,
                                       if_match, exchange.key == nullptr ? "" : exchange.key->name));
}

HttpResponse handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::native, 404, "no domain \"" + exchange.path_values.front() + "\"");
  auto body = json_body(exchange.request);
  if (!body) return error_response(Dialect::native, 400, body.error().text);
  std::string text = domain->text;
  bool is_live = false;
  if (const auto at = body->find("text"); at != body->end()) {
    if (!at->value().is_string())
      return error_response(Dialect::native, 400, "text is the template file, as a string");
    text = std::string(at->value().get_string());
    body->erase(at);
  }
  if (const auto at = body->find("live"); at != body->end()) {
    if (!at->value().is_bool()) return error_response(Dialect::native, 400, "live is true or false");
    is_live = at->value().get_bool();
    body->erase(at);
  }
  const auto wanted = read_native_search(*body);
  if (!wanted) return error_response(Dialect::native, 400, wanted.error().text);
  if (auto refused = gate.admit_search(exchange, 0, wanted->is_raw()))
    return refusal_response(Dialect::native, *refused);
  const auto edited = edited_domain(*exchange.snapshot, *domain, text);
  if (!edited) return error_response(Dialect::native, 422, edited.error().text);
  const auto refuse = [](const Error& error) {
    return error_response(Dialect::native, status_of(error.code), error.text);
  };
  auto preview = preview_templates(*exchange.snapshot, *edited, wanted->search, false, clock);
  if (!preview) return refuse(preview.error());
  if (is_live) {
    if (auto refused = gate.admit_search(exchange, preview->expansions.size(), wanted->is_raw()))
      return refusal_response(Dialect::native, *refused);
    preview = preview_templates(*exchange.snapshot, *edited, wanted->search, true, clock);
    if (!preview) return refuse(preview.error());
  }
  return make_response(200, "application/json", to_text(preview_json(*preview)));
}

}  // namespace metafuse::service
