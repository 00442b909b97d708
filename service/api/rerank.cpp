#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "fetchers/engines/index/text_ranking.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/list_fusion.h"

// POST /v1/rerank: the documents of a request, ordered by lists that are made over them here, fused by the
// model of a domain that has these lists, else by RRF. Requests and answers have the shapes of Jina, Cohere
// (both versions) and Text Embeddings Inference, which differ in a few names.

namespace metafuse::service {
namespace {

constexpr std::size_t kMostRerankDocuments = 1000;
constexpr std::size_t kMostRerankQuery = std::size_t{16} << 10;
constexpr int kMostRankFields = 20;
/// About 0.1 s of processor time per MiB is four tokens.
constexpr double kBytesPerToken = 256 << 10;

struct RerankRequest {
  std::string query;
  std::string model;               ///< a domain's name chooses that domain; other names are ignored
  std::vector<std::string> texts;  ///< of the documents
  std::vector<Json> documents;     ///< as they were sent
  std::size_t top_n = kMostRerankDocuments;
  bool returns_documents = false;
  bool is_tei = false;  ///< in the shape of Text Embeddings Inference
};

/// The text of a document: itself, or its fields, one per line (Cohere's rank_fields).
std::string document_text(JsonFields& fields, const Json& document, const std::vector<std::string>& names) {
  if (document.is_string()) return std::string(document.get_string());
  std::string out;
  if (document.is_object())
    for (const std::string& name : names)
      if (const Json* part = document.get_object().if_contains(name); part != nullptr && part->is_string())
        out += (out.empty() ? "" : "\n") + std::string(part->get_string());
  if (out.empty()) fields.set_mistake("each document is a string, or an object with a string in \"text\"");
  return out;
}

Result<RerankRequest> read_rerank(const JsonObject& body) {
  JsonFields fields(body);
  RerankRequest out;
  out.query = fields.text("query", kMostRerankQuery).value_or("");
  if (out.query.empty()) fields.set_mistake("query is missing");
  out.model = fields.text("model", 200).value_or("");
  out.is_tei = body.contains("texts") && !body.contains("documents");
  const JsonArray* documents = fields.array(out.is_tei ? "texts" : "documents");
  if (documents == nullptr) fields.set_mistake("documents is missing: give a list of texts");
  auto names = fields.texts("rank_fields", kMostRankFields);
  if (names.empty()) names = {"text"};
  const int most = static_cast<int>(kMostRerankDocuments);
  for (const char* name : {"top_n", "top_k"})  // Jina and Cohere, and Voyage
    if (const auto top = fields.integer(name, 1, 1'000'000))
      out.top_n = static_cast<std::size_t>(std::min(*top, most));
  out.returns_documents = fields.flag(out.is_tei ? "return_text" : "return_documents").value_or(false);
  if (documents != nullptr && documents->size() > kMostRerankDocuments)
    fields.set_mistake(fmt::format("{} documents; at most {} are ordered at once", documents->size(), most));
  else if (documents != nullptr)
    for (const Json& document : *documents) {
      out.texts.push_back(document_text(fields, document, names));
      out.documents.push_back(document);
    }
  if (fields.has_failed()) return fields.error();
  return out;
}

/// A list of the documents with a score above 0, best first; at equal scores in the caller's order.
fetchers::FetchedList list_by(const std::string& name, const std::vector<double>& scores) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  fetchers::FetchedList out;
  out.query.template_id = name;
  for (const std::size_t document : order) {
    Hit& hit = out.list.hits.emplace_back();
    hit.key = hit.url = std::to_string(document);
    hit.score = scores[document];
  }
  return out;
}

/// Whether the domain's model knows one of the lists.
bool knows_lists(const LoadedDomain& domain, const std::vector<fetchers::FetchedList>& lists) {
  if (!domain.model) return false;
  const auto& features = domain.model->features;
  return std::any_of(lists.begin(), lists.end(), [&](const fetchers::FetchedList& list) {
    return std::any_of(features.begin(), features.end(),
                       [&](const fusion::Feature& one) { return one.name == list.query.template_id; });
  });
}

struct Reranked {
  std::size_t document = 0;
  double score = 0;  ///< within [0, 1]
};

/// All documents, best first. Those that no list ranks follow in the caller's order, with score 0.
std::vector<Reranked> reranked(const LoadedDomain* domain, const RerankRequest& request,
                               SearchAnswer& answer) {
  const std::vector<std::string_view> texts(request.texts.begin(), request.texts.end());
  const auto scores = fetchers::score_texts(request.query, texts);
  std::vector<fetchers::FetchedList> lists{list_by("words", scores.words), list_by("parts", scores.parts)};
  LoadedDomain plain;  // fuses by RRF
  plain.is_model_left_out = true;
  plain.domain.depth = static_cast<int>(kMostRerankDocuments);
  const bool has_model = domain != nullptr && knows_lists(*domain, lists);
  answer.domain = has_model ? domain->domain.name : std::string();
  answer.query = request.query;
  fuse_lists(has_model ? *domain : plain, std::move(lists), answer);
  std::vector<Reranked> out;
  std::vector<bool> is_ranked(texts.size(), false);
  for (const FusedResult& result : answer.results) {
    const std::size_t document = std::stoul(result.key);
    is_ranked[document] = true;
    out.push_back({document, result.relative_score});
  }
  for (std::size_t i = 0; i < is_ranked.size(); ++i)
    if (!is_ranked[i]) out.push_back({i, 0});
  return out;
}

JsonArray tei_json(const RerankRequest& request, const std::vector<Reranked>& order) {
  JsonArray out;
  for (const Reranked& one : order) {
    JsonObject item{{"index", one.document}, {"score", one.score}};
    if (request.returns_documents) item["text"] = request.texts[one.document];
    out.push_back(std::move(item));
  }
  return out;
}

JsonObject rerank_json(const RerankRequest& request, const std::vector<Reranked>& order,
                       const SearchAnswer& answer) {
  JsonArray results;
  for (const Reranked& one : order) {
    JsonObject item{{"index", one.document}, {"relevance_score", one.score}};
    if (request.returns_documents) {
      const Json& sent = request.documents[one.document];
      item["document"] = sent.is_string() ? Json(JsonObject{{"text", sent}}) : sent;
    }
    results.push_back(std::move(item));
  }
  JsonObject out{{"id", random_hex(16)},
                 {"model", answer.domain.empty() ? answer.fusion.method : answer.domain}};
  out["results"] = std::move(results);
  out["usage"] = JsonObject{{"total_tokens", 0}};
  out["meta"] = JsonObject{{"api_version", JsonObject{{"version", "2"}}}};
  return out;
}

}  // namespace

Answered handle_rerank(Gate& gate, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto request, read_rerank(body));
  if (auto refused =
          gate.admit_more(exchange, static_cast<double>(exchange.request.body.size()) / kBytesPerToken))
    return std::move(*refused);
  const LoadedDomain* domain = exchange.find_domain(request.model);
  if (domain == nullptr) domain = exchange.find_domain("");
  SearchAnswer answer;
  auto order = reranked(domain, request, answer);
  order.resize(std::min(order.size(), request.top_n));
  if (request.is_tei) return make_response(200, "application/json", to_text(tei_json(request, order)));
  return json_response(rerank_json(request, order, answer));
}

}  // namespace metafuse::service
