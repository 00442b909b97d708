#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "fetchers/engines/index/document_files.h"
#include "service/api/handlers.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/document_keeper.h"

// /v1/documents: the documents of a domain's embedded index, added and removed by programs. The gate has
// checked the role.

namespace metafuse::service {
namespace {

using fetchers::SourceDocument;

constexpr std::size_t kMostUrlBytes = 8192;

OrRefusal<std::string> index_in_path(const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  const auto index = index_of(*domain);
  if (!index) return refusal(409, index.error().text);
  return *index;
}

/// The refusal of a change that the index could not take; the rest of the request counts as not sent.
AccessRefusal not_taken(const Error& error) {
  if (error.code == Code::bad_config) return refusal(409, error.text);
  return error.code == Code::bad_data ? refusal(422, error.text) : refusal(503, error.text);
}

OrRefusal<SourceDocument> document_in(const Json& json, const std::string& place) {
  const JsonObject* object = json.if_object();
  auto document = object == nullptr
                      ? Result<SourceDocument>(fail(
                            Code::bad_data, place + ": not a JSON object; send {\"url\":...,\"title\":...}"))
                      : fetchers::json_document(*object, place);
  if (!document) return refusal(422, document.error().text);
  if (document->url.empty()) return refusal(422, place + ": no \"url\"");
  if (document->url.size() > kMostUrlBytes)
    return refusal(422, fmt::format("{}: the url has more than {} bytes", place, kMostUrlBytes));
  if (const auto address = fetchers::check_address(document->url, place); !address)
    return refusal(422, address.error().text);
  return std::move(*document);
}

/// The documents of a body: one JSON object, a list of them, or one object per line.
OrRefusal<std::vector<SourceDocument>> documents_in(const HttpRequest& request) {
  std::vector<SourceDocument> documents;
  const auto add = [&](const Json& json, const std::string& place) -> OrRefusal<void> {
    TRY(auto document, document_in(json, place));
    documents.push_back(std::move(document));
    return {};
  };
  if (media_type(request.header("Content-Type")) != "application/x-ndjson") {
    const auto json = parse_json(request.body, "the body");
    if (!json) return refusal(400, json.error().text);
    const JsonArray* list = json->if_array();
    if (list == nullptr) TRY_VOID(add(*json, "the body"));
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
      TRY_VOID(add((*list)[i], fmt::format("document {}", i + 1)));
    return documents;
  }
  JsonLines lines(request.body);
  for (;;) {
    const auto json = lines.next();
    if (!json) return refusal(422, json.error().text);
    if (!*json) return documents;
    TRY_VOID(add(**json, lines.place()));
  }
}

/// The addresses of DELETE: `url` in the target, or {"urls": [...]}.
OrRefusal<std::vector<std::string>> urls_in(const HttpRequest& request) {
  std::vector<std::string> urls;
  if (request.body.empty()) {
    for (const auto& [name, value] : request.query)
      if (name == "url") urls.push_back(value);
  } else {
    const auto body = json_body(request);
    if (!body) return refusal(400, body.error().text);
    const Json* list = body->if_contains("urls");
    if (list == nullptr || !list->is_array()) return refusal(422, "send {\"urls\": [...]}");
    for (const Json& url : list->as_array()) {
      if (!url.is_string()) return refusal(422, "urls must be a list of texts");
      urls.emplace_back(url.as_string());
    }
  }
  if (urls.empty()) return refusal(422, "no address was sent; send {\"urls\": [...]} or ?url=...");
  for (const std::string& url : urls)
    if (url.empty() || url.size() > kMostUrlBytes)
      return refusal(422, fmt::format("an address must have 1 to {} bytes", kMostUrlBytes));
  return urls;
}

}  // namespace

Answered handle_get_documents(DocumentKeeper& keeper, const Exchange& exchange) {
  TRY(const std::string index, index_in_path(exchange));
  TRY(const auto state, keeper.state(index));
  return json_response({{"domain", exchange.path_values.front()},
                        {"documents", state.documents},
                        {"last_step", state.last_step},
                        {"searched_step", state.searched}});
}

Answered handle_put_documents(DocumentKeeper& keeper, const Exchange& exchange) {
  TRY(const std::string index, index_in_path(exchange));
  TRY(const auto documents, documents_in(exchange.request));
  if (documents.empty())
    return refusal(422, "no document was sent; send {\"url\":...,\"title\":...,\"text\":...}");
  if (const auto done = keeper.put(index, documents); !done) return not_taken(done.error());
  return json_response({{"domain", exchange.path_values.front()}, {"stored", documents.size()}});
}

Answered handle_delete_documents(DocumentKeeper& keeper, const Exchange& exchange) {
  TRY(const std::string index, index_in_path(exchange));
  TRY(const auto urls, urls_in(exchange.request));
  const auto removed = keeper.remove(index, urls);
  if (!removed) return not_taken(removed.error());
  return json_response({{"domain", exchange.path_values.front()}, {"removed", *removed}});
}

}  // namespace metafuse::service
