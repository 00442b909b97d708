#include <optional>
#include <string>

#include "core/json.h"
#include "core/number.h"
#include "service/config/snapshot.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/template_saving.h"
#include "service/learning/records.h"

namespace metafuse::service {
namespace {

HttpResponse refuse_version(int status, std::string_view text) {
  return error_response(Dialect::native, status, text);
}

JsonObject version_json(const TemplateVersion& version) {
  return {{"number", version.number}, {"author", version.author}, {"at", version.at}};
}

/// Why there are no versions to speak of, or nothing.
std::optional<HttpResponse> version_refusal(const Records& records, const Exchange& exchange) {
  if (!exchange.snapshot->domains.contains(exchange.path_values.front()))
    return refuse_version(404, "no domain \"" + exchange.path_values.front() + "\"");
  if (records.store == nullptr)
    return refuse_version(
        404, "versions are kept in the store, and there is none; set store: in the configuration");
  return std::nullopt;
}

/// The version that the path names.
std::optional<TemplateVersion> wanted_version(Records& records, const Exchange& exchange,
                                              HttpResponse& refused) {
  std::int64_t number = 0;
  const std::string& text = exchange.path_values.at(1);
  const bool is_number = to_integer(text, number) && number > 0 && number <= kMaxTemplateVersions;
  const auto found = is_number ? records.store->find_template_version(exchange.path_values.front(),
                                                                      static_cast<std::uint32_t>(number))
                               : Result<std::optional<TemplateVersion>>(std::nullopt);
  if (!found)
    refused = refuse_version(status_of(found.error().code), found.error().text);
  else if (!*found)
    refused = refuse_version(404, "no version \"" + text + "\" of domain " + exchange.path_values.front());
  else
    return **found;
  return std::nullopt;
}

}  // namespace

HttpResponse handle_template_versions(Records& records, const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  const auto versions = records.store->template_versions(exchange.path_values.front());
  if (!versions) return refuse_version(status_of(versions.error().code), versions.error().text);
  JsonArray list;
  for (const TemplateVersion& version : *versions) list.emplace_back(version_json(version));
  const std::string& etag = exchange.snapshot->domains.at(exchange.path_values.front()).etag;
  HttpResponse response =
      make_response(200, "application/json",
                    to_text(JsonObject{{"domain", exchange.path_values.front()}, {"versions", list}}));
  response.set("ETag", '"' + etag + '"');
  return response;
}

HttpResponse handle_template_version(Records& records, const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  HttpResponse refused;
  const auto version = wanted_version(records, exchange, refused);
  if (!version) return refused;
  JsonObject body = version_json(*version);
  body["text"] = version->text;
  HttpResponse response = make_response(200, "application/json", to_text(body));
  response.set("ETag", '"' + text_etag(version->text) + '"');
  return response;
}

HttpResponse handle_revert_templates(Reloader& reloader, Records& records, const Exchange& exchange) {
  if (auto refused = version_refusal(records, exchange)) return std::move(*refused);
  const std::string if_match = exchange.request.list("If-Match");
  if (if_match.empty()) return refuse_version(428, "send If-Match with the ETag of the file as it is now");
  HttpResponse refused;
  const auto version = wanted_version(records, exchange, refused);
  if (!version) return refused;
  const SaveOutcome outcome = save_templates(reloader, records, exchange.path_values.front(), version->text,
                                             if_match, exchange.key == nullptr ? "" : exchange.key->name);
  return saved_response(outcome);
}

}  // namespace metafuse::service
