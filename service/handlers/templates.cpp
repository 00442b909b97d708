#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/number.h"
#include "core/text_file.h"
#include "core/utf8.h"
#include "fusion/model/model_file.h"
#include "service/access/gate.h"
#include "service/base/log.h"
#include "service/editing/template_editing.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/template_saving.h"
#include "service/http/message.h"
#include "service/learning/records.h"
#include "service/reloader.h"
#include "service/requests/search_requests.h"

// /v1/templates: reads, previews and saves a domain's templates, and reverts them to an earlier version.

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxTemplateFileBytes = std::size_t{1} << 20;

HttpResponse refuse_templates(int status, std::string_view text) {
  return error_response(Dialect::native, status, text);
}

std::string no_domain(const Exchange& exchange) {
  return "no domain \"" + exchange.path_values.front() + "\"";
}

/// Says in which names the edited templates differ from those that the model was trained on; empty if
/// they fit.
std::string model_conflict(const LoadedDomain& current, const LoadedDomain& edited) {
  if (!current.model || edited.model) return {};
  std::vector<std::string> names;
  for (const fusion::Feature& feature : features_of(edited.domain)) names.push_back(feature.name);
  const auto matched = fusion::match_features(*current.model, names, false);
  return matched ? std::string() : matched.error().text;
}

/// Stores the new version. The first save also stores the text before it.
Result<void> keep_version(Store& store, const std::string& domain, const std::string& before,
                          std::string_view text, std::string_view author, UnixTime now) {
  TRY(const auto versions, store.template_versions(domain));
  if (versions.empty()) {
    TRY_VOID(store.add_template_version({domain, 0, before, "", now}));
  }
  TRY_VOID(store.add_template_version({domain, 0, std::string(text), std::string(author), now}));
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

HttpResponse saved_response(const SaveOutcome& outcome) {
  if (outcome.status != 200) return refuse_templates(outcome.status, outcome.text);
  HttpResponse response = make_response(200, "application/json", to_text(JsonObject{{"etag", outcome.etag}}));
  response.set("ETag", '"' + outcome.etag + '"');
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

/// The response that says why there are no versions, or nothing.
std::optional<HttpResponse> version_refusal(const Records& records, const Exchange& exchange) {
  if (!exchange.snapshot->domains.contains(exchange.path_values.front()))
    return refuse_templates(404, no_domain(exchange));
  if (records.store == nullptr)
    return refuse_templates(
        404, "versions are kept in a store, and this server has none; set store: in its configuration");
  return std::nullopt;
}

JsonObject version_json(const TemplateVersion& version) {
  return {{"number", version.number}, {"author", version.author}, {"at", version.at}};
}

/// The version that the path names.
Result<TemplateVersion> wanted_version(Records& records, const Exchange& exchange) {
  std::int64_t number = 0;
  const std::string& text = exchange.path_values.at(1);
  if (to_integer(text, number) && number > 0 && number <= kMaxTemplateVersions) {
    TRY(auto found, records.store->find_template_version(exchange.path_values.front(),
                                                         static_cast<std::uint32_t>(number)));
    if (found) return std::move(*found);
  }
  return fail(Code::no_input, "no version \"" + text + "\" of domain " + exchange.path_values.front());
}

}  // namespace

SaveOutcome save_templates(Reloader& reloader, Records& records, const std::string& domain,
                           std::string_view text, std::string_view if_match, std::string_view author) {
  const std::lock_guard one_at_a_time(reloader.files_mutex());
  const auto snapshot = reloader.snapshot();
  const auto at = snapshot->domains.find(domain);
  if (at == snapshot->domains.end()) return {404, "no domain \"" + domain + "\"", ""};
  const LoadedDomain& current = at->second;
  const auto refused = [&](int status, std::string why) {
    return SaveOutcome{status, std::move(why), current.etag};
  };
  const auto folder = std::filesystem::path(current.file).parent_path();
  const auto lock = FileLock::take(folder.empty() ? "." : folder.string(),
                                   "another process is saving templates there; try again");
  if (!lock) return refused(503, lock.error().text);
  const auto before = read_text(current.file, kMaxTemplateFileBytes);
  if (!before) return refused(503, before.error().text);
  const std::string etag = text_etag(*before);
  if (etag != current.etag) reloader.reload_soon();  // somebody has edited the file by hand
  if (!names_etag(if_match, etag))
    return {412, "the file changed since it was read; load it again and repeat the change", etag};
  const auto edited = edited_domain(*snapshot, current, text);
  if (!edited) return refused(422, edited.error().text);
  if (const std::string conflict = model_conflict(current, *edited); !conflict.empty())
    return refused(409,
                   conflict + "; train a model for the new templates first, or remove " + current.model_file);
  if (records.store == nullptr)
    return refused(
        409,
        "saving keeps every version in a store, and this server has none; set store: in its configuration");
  if (const auto kept = keep_version(*records.store, domain, *before, text, author, records.unix_time());
      !kept)
    return refused(503, kept.error().text);
  const auto written = replace_file(records, current, *before, text);
  if (!written) return refused(503, written.error().text);
  if (!*written) {
    reloader.reload_soon();
    return {
        412,
        "another server changed the templates since they were read; load them again and repeat the change",
        etag};
  }
  if (const auto reloaded = reloader.reload(); !reloaded) {
    std::string why = reloaded.error().text;
    if (const auto restored = replace_file(records, current, text, *before); !restored)
      why += "; " + restored.error().text;
    return refused(409, why);
  }
  const LoadedDomain* saved = reloader.snapshot()->find_domain(domain);
  return {200, "saved", saved == nullptr ? edited->etag : saved->etag};
}

bool names_etag(std::string_view header, std::string_view etag) {
  while (!header.empty()) {
    const std::string_view raw = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), raw.size() + 1));
    std::string_view item = trimmed(raw);
    if (item.size() >= 2 && item.front() == '"' && item.back() == '"') item = item.substr(1, item.size() - 2);
    if (item == "*" || item == etag) return true;
  }
  return false;
}

HttpResponse handle_get_templates(const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr) return refuse_templates(404, no_domain(exchange));
  HttpResponse response = make_response(200, "application/yaml", domain->text);
  response.set("ETag", '"' + domain->etag + '"');
  response.set("Cache-Control", "no-cache");
  if (names_etag(exchange.request.list("If-None-Match"), domain->etag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

HttpResponse handle_put_templates(Reloader& reloader, Records& records, const Exchange& exchange) {
  const std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty())
    return refuse_templates(428, "send If-Match with the ETag of the file that was edited");
  return saved_response(save_templates(reloader, records, exchange.path_values.front(), exchange.request.body,
                                       if_match, exchange.key == nullptr ? "" : exchange.key->name));
}

HttpResponse handle_preview_templates(Gate& gate, const Clock& clock, const Exchange& exchange) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(exchange.path_values.front());
  if (domain == nullptr) return refuse_templates(404, no_domain(exchange));
  auto body = json_body(exchange.request);
  if (!body) return refuse_templates(400, body.error().text);
  const auto wish = read_preview(std::move(*body), *domain);
  if (!wish) return refuse_templates(400, wish.error().text);
  if ((wish->is_live || wish->text != domain->text) && !exchange.may(Role::admin))
    return refuse_templates(403, "an edited text and live lists need a key with the role admin");
  if (auto refused = gate.admit_search(exchange, 0, wish->search.is_raw()))
    return refusal_response(Dialect::native, *refused);
  const std::size_t most_bytes = max_preview_answer(exchange.request.body.size());
  const auto edited = previewed_domain(*exchange.snapshot, *domain, wish->text, clock);
  if (!edited) return refuse_templates(422, truncate_utf8(edited.error().text, most_bytes / 8));
  auto preview = preview_templates(*exchange.snapshot, *edited, wish->search.search, false, clock);
  if (preview && wish->is_live) {
    if (auto refused = gate.admit_search(exchange, preview->expansions.size(), wish->search.is_raw()))
      return refusal_response(Dialect::native, *refused);
    preview = preview_templates(*exchange.snapshot, *edited, wish->search.search, true, clock);
  }
  if (!preview) return refuse_templates(status_of(preview.error().code), preview.error().text);
  std::string answer = to_text(preview_json(*preview));
  if (answer.size() > most_bytes)
    return refuse_templates(
        422, fmt::format("the preview would have {} bytes, and at most {} are allowed; preview fewer "
                         "or shorter templates, or a smaller depth",
                         answer.size(), most_bytes));
  return make_response(200, "application/json", std::move(answer));
}

HttpResponse handle_template_versions(Records& records, Log& log, const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  const auto versions = records.store->template_versions(exchange.path_values.front());
  if (!versions) return failure_response(Dialect::native, exchange, log, versions.error());
  JsonArray list;
  for (const TemplateVersion& version : *versions) list.emplace_back(version_json(version));
  const std::string& etag = exchange.snapshot->domains.at(exchange.path_values.front()).etag;
  HttpResponse response =
      make_response(200, "application/json",
                    to_text(JsonObject{{"domain", exchange.path_values.front()}, {"versions", list}}));
  response.set("ETag", '"' + etag + '"');
  return response;
}

HttpResponse handle_template_version(Records& records, Log& log, const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  const auto version = wanted_version(records, exchange);
  if (!version) return failure_response(Dialect::native, exchange, log, version.error());
  JsonObject body = version_json(*version);
  body["text"] = version->text;
  HttpResponse response = make_response(200, "application/json", to_text(body));
  response.set("ETag", '"' + text_etag(version->text) + '"');
  return response;
}

HttpResponse handle_revert_templates(Reloader& reloader, Records& records, Log& log,
                                     const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  const std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty()) return refuse_templates(428, "send If-Match with the ETag of the file as it is now");
  const auto version = wanted_version(records, exchange);
  if (!version) return failure_response(Dialect::native, exchange, log, version.error());
  return saved_response(save_templates(reloader, records, exchange.path_values.front(), version->text,
                                       if_match, exchange.key == nullptr ? "" : exchange.key->name));
}

}  // namespace metafuse::service
