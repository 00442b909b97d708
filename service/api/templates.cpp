#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fusion/model/model_file.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/config/reloader.h"
#include "service/http/message.h"
#include "service/learning/records.h"
#include "service/search/search_plan.h"
#include "service/search/search_requests.h"
#include "service/search/template_editing.h"

// /v1/templates: reads, previews and saves a domain's templates, and reverts them to an earlier version.

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxTemplateFileBytes = std::size_t{1} << 20;

/// Says in which names the edited templates differ from those that the model was trained on; empty if
/// they fit.
std::string model_conflict(const LoadedDomain& current, const LoadedDomain& edited) {
  if (!current.model || edited.model) return {};
  std::vector<std::string> names;
  for (const fusion::Feature& feature : features_of(edited.domain)) names.push_back(feature.name);
  const auto matched = fusion::match_features(*current.model, names, false);
  return matched ? std::string() : matched.error().text;
}

/// Whether an edit of the file as it is may be saved.
///
/// errors: 412 it began with another version; 422 mistakes; 409 the model does not fit it
OrRefusal<void> check_edit(const Snapshot& snapshot, const LoadedDomain& current, std::string_view before,
                           const TemplateEdit& edit) {
  if (!names_etag(edit.if_match, text_etag(before), EtagComparison::strong))
    return refusal(412, "the file changed since it was read; load it again and repeat the change");
  const auto edited = edited_domain(snapshot, current, edit.text);
  if (!edited) return refusal(422, edited.error().text);
  if (const std::string conflict = model_conflict(current, *edited); !conflict.empty())
    return refusal(409,
                   conflict + "; train a model for the new templates first, or remove " + current.model_file);
  return {};
}

/// Stores the new version. The first save also stores the text before it.
Result<void> keep_version(Store& store, const std::string& before, const TemplateEdit& edit, UnixTime now) {
  TRY(const auto versions, store.templates.all(edit.domain));
  if (versions.empty()) {
    TRY_VOID(store.templates.add({edit.domain, 0, before, "", now}));
  }
  TRY_VOID(store.templates.add({edit.domain, 0, std::string(edit.text), std::string(edit.author), now}));
  return {};
}

/// Writes the new text, here and for all servers of the store.
///
/// out: false if another server changed the templates first
Result<bool> replace_file(Records& records, const LoadedDomain& domain, std::string_view before,
                          std::string_view text) {
  if (records.mirror != nullptr) return records.mirror->replace_templates(domain.domain.name, before, text);
  TRY_VOID(write_file(domain.file, text));
  return true;
}

/// Replaces the file and reloads; restores the file if that fails.
///
/// errors: 412 another server was faster; 409 the configuration does not load with the new text; 503
OrRefusal<void> put_in_use(Reloader& reloader, Records& records, const LoadedDomain& domain,
                           std::string_view before, std::string_view text) {
  const auto written = replace_file(records, domain, before, text);
  if (!written) return refusal(503, written.error().text);
  if (!*written) {
    reloader.reload_soon();
    return refusal(
        412,
        "another server changed the templates since they were read; load them again and repeat the change");
  }
  const auto reloaded = reloader.reload();
  if (reloaded) return {};
  std::string why = reloaded.error().text;
  if (const auto restored = replace_file(records, domain, text, before); !restored)
    why += "; " + restored.error().text;
  return refusal(409, why);
}

/// in: hint - what to send if the header is missing
OrRefusal<std::string> if_match_of(const Exchange& exchange, const char* hint) {
  std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty()) return refusal(428, hint);
  return if_match;
}

std::string_view author_of(const Exchange& exchange) {
  return exchange.key == nullptr ? std::string_view() : exchange.key->name;
}

/// Saves an edit and answers with the new entity tag.
Answered answer_saving(Reloader& reloader, Records& records, const TemplateEdit& edit) {
  TRY(const auto etag, save_templates(reloader, records, edit));
  HttpResponse response = json_response(JsonObject{{"etag", etag}});
  response.set("ETag", '"' + etag + '"');
  return response;
}

/// A request for a preview.
struct PreviewWish {
  std::string text;  ///< the edited file
  bool is_live = false;
  NativeSearch search;
};

Result<PreviewWish> read_preview(JsonObject body, const LoadedDomain& domain) {
  PreviewWish wish;
  wish.text = domain.text;
  if (const auto at = body.find("text"); at != body.end()) {
    if (!at->value().is_string()) return fail(Code::usage, "text must be the template file, as a string");
    wish.text = std::string(at->value().get_string());
    body.erase(at);
  }
  if (const auto at = body.find("live"); at != body.end()) {
    if (!at->value().is_bool()) return fail(Code::usage, "live must be true or false");
    wish.is_live = at->value().get_bool();
    body.erase(at);
  }
  TRY(wish.search, read_native_search(body));
  return wish;
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
    JsonObject item{{"feature", list.query.feature_name()}, {"failure", nullptr}, {"urls", std::move(urls)}};
    if (list.has_failed()) {
      item["failure"] = fetchers::name_of(list.failure);
      item["message"] = list.message;
    }
    lists.push_back(std::move(item));
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

/// The domain that the path names, if its versions are kept.
OrRefusal<const LoadedDomain*> domain_with_versions(const Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  if (records.store != nullptr) return domain;
  return refusal(404,
                 "versions are kept in a store, and this server has none; set store: in its configuration");
}

JsonObject version_json(const TemplateVersion& version) {
  return {{"number", version.number}, {"author", version.author}, {"at", version.at}};
}

/// The version that the path names.
Result<TemplateVersion> wanted_version(Records& records, const Exchange& exchange) {
  const std::string& text = exchange.path_values.at(1);
  TRY(auto found, records.store->templates.find(exchange.path_values.front(), version_number(text)));
  if (found) return std::move(*found);
  return fail(Code::no_input, "no version \"" + text + "\" of domain " + exchange.path_values.front());
}

}  // namespace

OrRefusal<std::string> save_templates(Reloader& reloader, Records& records, const TemplateEdit& edit) {
  const std::lock_guard one_at_a_time(reloader.files_mutex());
  const auto snapshot = reloader.snapshot();
  const LoadedDomain* current = snapshot->find_domain(edit.domain);
  if (current == nullptr) return refusal(404, "no domain \"" + edit.domain + "\"");
  const auto folder = std::filesystem::path(current->file).parent_path();
  const auto lock = FileLock::take(folder.empty() ? "." : folder.string(),
                                   "another process is saving templates there; try again");
  if (!lock) return refusal(503, lock.error().text);
  const auto before = read_text(current->file, kMaxTemplateFileBytes);
  if (!before) return refusal(503, before.error().text);
  if (text_etag(*before) != current->etag) reloader.reload_soon();  // somebody has edited the file by hand
  TRY_VOID(check_edit(*snapshot, *current, *before, edit));
  if (records.store == nullptr)
    return refusal(
        409,
        "saving keeps every version in a store, and this server has none; set store: in its configuration");
  TRY_VOID(put_in_use(reloader, records, *current, *before, edit.text));
  if (const auto kept = keep_version(*records.store, *before, edit, records.unix_time()); !kept) {
    TRY_VOID(put_in_use(reloader, records, *current, edit.text, *before));
    return refusal(503, kept.error().text);
  }
  return text_etag(edit.text);
}

OrRefusal<SearchAnswer> search_live(Gate& gate, const Exchange& exchange, const LoadedDomain& edited,
                                    const SearchRequest& request, const Clock& clock) {
  TRY(const auto prepared, prepare_for_client(exchange, edited, request, clock));
  std::size_t most = first_requests(prepared);
  for (const auto& round : prepared.rounds) most += round.size();
  if (auto refused = gate.admit_search(exchange, most, request.has_raw())) return std::move(*refused);
  return search_prepared(prepared, clock);
}

Answered handle_get_templates(const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  HttpResponse response = make_response(200, "application/yaml", domain->text);
  response.set("Cache-Control", "no-cache");
  set_etag(exchange.request, domain->etag, response);
  return response;
}

Answered handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY(const auto if_match, if_match_of(exchange, "send If-Match with the ETag of the file that was edited"));
  return answer_saving(reloader, records,
                       {exchange.path_values.front(), exchange.request.body, if_match, author_of(exchange)});
}

Answered handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  TRY(auto body, json_body(exchange.request));
  TRY(const auto wish, read_preview(std::move(body), *domain));
  if ((wish.is_live || wish.text != domain->text) && !exchange.may(Role::admin))
    return refusal(403, "an edited text and live lists need a key with the role admin");
  const SearchRequest& request = wish.search.search;
  if (auto refused = gate.admit_search(exchange, 0, request.has_raw())) return std::move(*refused);
  const std::size_t most_bytes = max_preview_answer(exchange.request.body.size());
  const auto edited = previewed_domain(*exchange.snapshot, *domain, wish.text, clock);
  if (!edited) return refusal(422, std::string(truncate_utf8(edited.error().text, most_bytes / 8)));
  TemplatePreview preview;
  TRY(preview.expansions, preview_expansions(*exchange.snapshot, *edited, request));
  if (wish.is_live) {
    TRY(preview.answer, search_live(gate, exchange, *edited, request, clock));
  }
  std::string answer = to_text(preview_json(preview));
  if (answer.size() > most_bytes)
    return refusal(422,
                   fmt::format("the preview would have {} bytes, and at most {} are allowed; preview fewer "
                               "or shorter templates, or a smaller depth",
                               answer.size(), most_bytes));
  return make_response(200, "application/json", std::move(answer));
}

Answered handle_template_versions(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_with_versions(records, exchange));
  TRY(const auto versions, records.store->templates.all(domain->domain.name));
  JsonArray list;
  for (const TemplateVersion& version : versions) list.emplace_back(version_json(version));
  HttpResponse response = json_response({{"domain", domain->domain.name}, {"versions", list}});
  response.set("ETag", '"' + domain->etag + '"');
  return response;
}

Answered handle_template_version(Records& records, const Exchange& exchange) {
  TRY_VOID(domain_with_versions(records, exchange));
  TRY(const auto version, wanted_version(records, exchange));
  JsonObject body = version_json(version);
  body["text"] = version.text;
  HttpResponse response = json_response(body);
  response.set("ETag", '"' + text_etag(version.text) + '"');
  return response;
}

Answered handle_revert_templates(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY_VOID(domain_with_versions(records, exchange));
  TRY(const auto if_match, if_match_of(exchange, "send If-Match with the ETag of the file as it is now"));
  TRY(const auto version, wanted_version(records, exchange));
  return answer_saving(reloader, records,
                       {exchange.path_values.front(), version.text, if_match, author_of(exchange)});
}

}  // namespace metafuse::service
