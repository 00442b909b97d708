#include "service/handlers/template_saving.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/atomic_file.h"
#include "core/json.h"
#include "fusion/model/model_file.h"
#include "service/editing/template_editing.h"
#include "service/errors.h"
#include "service/learning/records.h"
#include "service/reloader.h"

namespace metafuse::service {
namespace {

/// Names in which the edited templates differ from what the model was trained on, empty when they fit.
std::string model_conflict(const LoadedDomain& current, const LoadedDomain& edited) {
  if (!current.model || edited.model) return {};
  std::vector<std::string> names;
  for (const fusion::Feature& feature : features_of(edited.domain)) names.push_back(feature.name);
  const auto matched = fusion::match_features(*current.model, names, false);
  return matched ? std::string() : matched.error().text;
}

/// The first save also keeps what was there before.
Result<void> keep_version(Store& store, const LoadedDomain& current, std::string_view text,
                          std::string_view author, UnixTime now) {
  TRY(const auto versions, store.template_versions(current.domain.name));
  if (versions.empty()) {
    TRY_VOID(store.add_template_version({current.domain.name, 0, current.text, "", now}));
  }
  TRY_VOID(store.add_template_version({current.domain.name, 0, std::string(text), std::string(author), now}));
  return {};
}

}  // namespace

SaveOutcome save_templates(Reloader& reloader, Records& records, const std::string& domain,
                           std::string_view text, std::string_view if_match, std::string_view author) {
  const std::lock_guard lock(reloader.files_mutex());
  const auto snapshot = reloader.snapshot();
  const auto at = snapshot->domains.find(domain);
  if (at == snapshot->domains.end()) return {404, "no domain \"" + domain + "\"", ""};
  const LoadedDomain& current = at->second;
  if (!names_etag(if_match, current.etag))
    return {412, "the file changed since it was read; load it again and repeat the change", current.etag};
  const auto edited = edited_domain(*snapshot, current, text);
  if (!edited) return {422, edited.error().text, current.etag};
  if (const std::string conflict = model_conflict(current, *edited); !conflict.empty())
    return {409,
            conflict + "; train a model for the new templates first, or take " + current.model_file + " away",
            current.etag};
  if (records.store == nullptr)
    return {
        409,
        "saving keeps every version in the store, and there is none; set store: in the server configuration",
        current.etag};
  if (const auto kept = keep_version(*records.store, current, text, author, records.unix_time()); !kept)
    return {503, kept.error().text, current.etag};
  if (const auto written = write_file(current.file, text); !written)
    return {503, written.error().text, current.etag};
  if (const auto reloaded = reloader.reload(); !reloaded) {
    std::string why = reloaded.error().text;
    if (const auto restored = write_file(current.file, current.text); !restored)
      why += "; " + restored.error().text;
    return {409, why, current.etag};
  }
  const LoadedDomain* saved = reloader.snapshot()->find_domain(domain);
  return {200, "saved", saved == nullptr ? edited->etag : saved->etag};
}

bool names_etag(std::string_view header, std::string_view etag) {
  while (!header.empty()) {
    std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), item.size() + 1));
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    if (item.size() >= 2 && item.front() == '"' && item.back() == '"') item = item.substr(1, item.size() - 2);
    if (item == "*" || item == etag) return true;
  }
  return false;
}

HttpResponse saved_response(const SaveOutcome& outcome) {
  if (outcome.status != 200) return error_response(Dialect::native, outcome.status, outcome.text);
  HttpResponse response = make_response(200, "application/json", to_text(JsonObject{{"etag", outcome.etag}}));
  response.set("ETag", '"' + outcome.etag + '"');
  return response;
}

}  // namespace metafuse::service
