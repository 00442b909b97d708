#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/base/log.h"
#include "service/config/reloader.h"
#include "service/http/head.h"
#include "service/learning/records.h"
#include "service/pages/errors.h"
#include "service/pages/handlers.h"
#include "service/pages/template_page.h"
#include "service/search/picture_reader.h"
#include "service/search/search_requests.h"
#include "service/search/template_editing.h"

// /templates: the pages on which templates are edited, as plain HTML forms. Everybody may preview the file in
// use. Everything else needs a key with the role admin, which the gate reads from the form.

namespace metafuse::service {
namespace {

constexpr std::string_view kVersionAction = "version-";

/// Browsers send the text of text areas with CRLF line ends; this makes them LF.
std::string with_unix_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

bool some_key_may_write(const ServerConfig& config) {
  return std::any_of(config.keys.begin(), config.keys.end(),
                     [](const KeyConfig& key) { return key.has(Role::admin); });
}

/// The initial state of a domain's page. Only administrators see versions and their authors.
TemplateEditorState state_of(const Records& records, const Exchange& exchange, const LoadedDomain& domain) {
  TemplateEditorState state;
  state.text = domain.text;
  state.etag = domain.etag;
  state.has_admin = some_key_may_write(exchange.snapshot->config);
  state.can_save = state.has_admin && records.store != nullptr;
  if (records.store != nullptr && exchange.may(Role::admin))
    if (auto versions = records.store->templates.all(domain.domain.name))
      state.versions = std::move(*versions);
  return state;
}

/// Sets the preview or the mistakes in the state.
///
/// out: the HTTP status
int show_preview(Gate& gate, const Clock& clock, const Exchange& exchange, const LoadedDomain& domain,
                 bool is_live, TemplateEditorState& state) {
  const auto edited = previewed_domain(*exchange.snapshot, domain, state.text, clock);
  if (!edited) {
    state.messages = line_messages(edited.error());
    return 422;
  }
  state.edited = edited->domain;
  SearchRequest request;
  request.text = state.query;
  request.slots = state.slots;
  auto expansions = preview_expansions(*exchange.snapshot, *edited, request);
  if (!expansions) {
    state.notice = expansions.error().text;
    return 422;
  }
  TemplatePreview preview{std::move(*expansions), std::nullopt};
  if (is_live) {
    auto answer = search_live(gate, exchange, *edited, request, clock);
    if (!answer) {
      state.notice = answer.error().text;
      return answer.error().status;
    }
    preview.answer = std::move(*answer);
  }
  state.preview = std::move(preview);
  return 200;
}

void open_version(const Records& records, const LoadedDomain& domain, std::string_view number_text,
                  TemplateEditorState& state) {
  const std::uint32_t number = version_number(number_text);
  if (number == 0 || records.store == nullptr) return;
  auto version = records.store->templates.find(domain.domain.name, number);
  if (!version || !*version) {
    state.notice = "there is no version " + std::to_string(number);
    return;
  }
  state.text = (*version)->text;
  state.notice = "version " + std::to_string(number) + " is open below; it is not saved yet";
}

int save(Reloader& reloader, Records& records, Log& log, const Exchange& exchange,
         TemplateEditorState& state) {
  auto saved = save_templates(reloader, records,
                              {exchange.path_values.front(), state.text, state.etag, exchange.key->name});
  const int status = saved ? 200 : saved.error().status;
  log.write(Log::Level::info, "form",
            {{"route", exchange.route}, {"key", exchange.key->name}, {"action", "save"}, {"status", status}});
  if (saved) {
    state.etag = std::move(*saved);
    state.notice = "Saved and in use.";
  } else if (status == 422) {
    state.messages = line_messages(fail(Code::bad_config, saved.error().text));
  } else {
    state.notice = "not saved: " + saved.error().text;
  }
  return status;
}

/// Renders the page. If it would be longer than an answer may be, it leaves out the preview and
/// most messages.
HttpResponse editor_response(int status, const Exchange& exchange, const LoadedDomain& domain,
                             TemplateEditorState state) {
  const std::size_t most_bytes = max_preview_answer(exchange.request.body.size());
  state.is_refused = status != 200;
  std::string page = template_editor_page(exchange, domain, state);
  if (page.size() > most_bytes) {
    state.preview.reset();
    if (state.messages.size() > 10) state.messages.resize(10);
    state.notice = "the page would be too long; preview fewer or shorter templates";
    page = template_editor_page(exchange, domain, state);
  }
  return html_response(std::move(page), status);
}

}  // namespace

HttpResponse handle_template_list(const Exchange& exchange) {
  return html_response(template_list_page(exchange));
}

Answered handle_template_editor(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  return html_response(template_editor_page(exchange, *domain, state_of(records, exchange, *domain)));
}

Answered handle_template_form(Reloader& reloader, Records& records, Gate& gate, PictureReader& pictures,
                              const Clock& clock, Log& log, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  TemplateEditorState state = state_of(records, exchange, *domain);
  state.text = with_unix_line_ends(form_value(exchange.form, "text"));
  state.etag = form_value(exchange.form, "etag");
  state.query = form_value(exchange.form, "query");
  state.slots = slots_in(exchange.form);
  state.files = {pictures.links().secret, exchange.snapshot->config.files};
  const std::string action = form_value(exchange.form, "action");
  const bool is_open_to_all =
      action != "live" && action != "save" && !action.starts_with("version") && state.text == domain->text;
  int status = 200;
  if (exchange.refused_action && !is_open_to_all) {
    status = exchange.refused_action->status;
    state.notice = (action == "save" ? "not saved: " : "") + exchange.refused_action->text;
  } else if (action == "save") {
    status = save(reloader, records, log, exchange, state);
  } else if (action.starts_with(kVersionAction)) {
    open_version(records, *domain, std::string_view(action).substr(kVersionAction.size()), state);
  } else if (action != "versions") {
    status = show_preview(gate, clock, exchange, *domain, action == "live", state);
  }
  if (!state.messages.empty()) status = 422;
  if (status != 200 || action != "save") return editor_response(status, exchange, *domain, std::move(state));
  Exchange now = exchange;
  now.snapshot = reloader.snapshot();
  const LoadedDomain* saved = now.snapshot->find_domain(domain->domain.name);
  state.versions = state_of(records, now, *saved).versions;
  return editor_response(200, now, *saved, std::move(state));
}

}  // namespace metafuse::service
