#include "service/learning/curation.h"

#include <mutex>
#include <string>

#include <fmt/format.h>

#include "core/json.h"
#include "service/api/handlers.h"
#include "service/config/reloader.h"
#include "service/http/message.h"
#include "service/learning/decisions.h"
#include "service/learning/records.h"
#include "service/search/template_editing.h"

// /v1/curation and the form of /curation: what an operator decided about single queries. The gate has checked
// the role. Every change is a version in the store, and counts from the next search on.

namespace metafuse::service {
namespace {

OrRefusal<const LoadedDomain*> domain_to_curate(const Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  if (records.store != nullptr) return domain;
  return refusal(404,
                 "curation is kept in a store, and this server has none; set store: in its configuration");
}

HttpResponse text_response(const std::string& text) {
  HttpResponse response = make_response(200, "application/json", text);
  response.set("ETag", '"' + text_etag(text) + '"');
  response.set("Cache-Control", "no-cache");
  return response;
}

}  // namespace

OrRefusal<std::string> save_curation(Records& records, const CurationEdit& edit,
                                     const TrackingParameters& tracking) {
  const auto parsed = parse_curation(edit.text, tracking);
  if (!parsed) return refusal(422, parsed.error().text);
  const auto before = stored_curation(*records.store, edit.domain);
  if (!before) return refusal(503, before.error().text);
  if (!names_etag(edit.if_match, text_etag(before->text), EtagComparison::strong))
    return refusal(412, "the curation changed since it was read; load it again and repeat the change");
  const std::string text = curation_text(*parsed);
  if (text == before->text) return text;
  const auto saved = records.store->templates.add(
      {curation_name(edit.domain), before->number + 1, text, std::string(edit.author), records.unix_time()});
  if (!saved) return refusal(503, saved.error().text);
  records.decisions->note(edit.domain);
  return text;
}

Answered handle_get_curation(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_curate(records, exchange));
  TRY(const auto stored, stored_curation(*records.store, domain->domain.name));
  return text_response(stored.text);
}

Answered handle_put_curation(Reloader& reloader, Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_curate(records, exchange));
  const std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty()) return refusal(428, "send If-Match with the ETag of the curation that was edited");
  const std::lock_guard one_at_a_time(reloader.files_mutex());
  TRY(const auto text, save_curation(records,
                                     {domain->domain.name, exchange.request.body, if_match,
                                      exchange.key == nullptr ? "" : exchange.key->name},
                                     exchange.snapshot->config.tracking));
  return text_response(text);
}

Answered handle_curation_versions(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_curate(records, exchange));
  TRY(const auto versions, records.store->templates.all(curation_name(domain->domain.name)));
  JsonArray list;
  for (const TemplateVersion& version : versions)
    list.push_back(JsonObject{{"number", version.number}, {"author", version.author}, {"at", version.at}});
  return json_response({{"domain", domain->domain.name}, {"versions", std::move(list)}});
}

Answered handle_curation_version(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_curate(records, exchange));
  const std::string& text = exchange.path_values.at(1);
  TRY(const auto found,
      records.store->templates.find(curation_name(domain->domain.name), version_number(text)));
  if (found) return text_response(found->text);
  return refusal(404, fmt::format("no version \"{}\" of the curation of {}", text, domain->domain.name));
}

}  // namespace metafuse::service
