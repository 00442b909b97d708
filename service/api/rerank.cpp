#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <span>
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
#include "core/json_members.h"
#include "fetchers/engines/index/text_meaning.h"
#include "fetchers/engines/index/text_ranking.h"
#include "fetchers/engines/index/vector_engine.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/base/dates.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_plan.h"
#include "service/search/second_stage.h"

// POST /v1/rerank: the documents of a request, ordered by lists that are made over them here (by words, by
// parts of words, and by meaning if an index of the domain has it) and by the domain's rerankers. The model
// of a domain that has these lists fuses them, else RRF does. Requests and answers have the shapes of Jina,
// Cohere (both versions) and Text Embeddings Inference, which differ in a few names.

namespace metafuse::service {
namespace {

constexpr const char* kWords = "words";
constexpr const char* kParts = "parts";
constexpr const char* kMeaning = "meaning";
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
  bool has_text = false;
  for (const std::string& name : names)
    if (const auto* part = JsonMembers(document).text(name)) {
      out += (out.empty() ? "" : "\n") + std::string(*part);
      has_text = true;
    }
  if (!has_text) fields.set_mistake("each document is a string, or an object with a string in \"text\"");
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
fetchers::FetchedList list_by(const std::string& name, const std::vector<double>& scores,
                              const std::vector<std::string>& texts) {
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
    hit.snippet = texts[document];
  }
  return out;
}

/// Whether the domain's model knows one of the lists.
bool knows_lists(const LoadedDomain& domain) {
  if (!domain.model) return false;
  std::vector<std::string> names{kWords, kParts, kMeaning};
  for (const templates::RerankList& list : domain.domain.rerank) names.push_back(list.feature_name());
  const auto& features = domain.model->features;
  return std::any_of(features.begin(), features.end(), [&](const fusion::Feature& one) {
    return std::find(names.begin(), names.end(), one.name) != names.end();
  });
}

/// The domain whose model, and whose rerankers that the key may ask, order documents: a copy without
/// templates, which fuses by RRF if the domain's model knows none of the lists.
LoadedDomain ordering_domain(const Exchange& exchange, const LoadedDomain* domain) {
  LoadedDomain out;
  out.domain.depth = static_cast<int>(kMostRerankDocuments);
  out.is_model_left_out = true;
  if (domain == nullptr) return out;
  out.domain.rerank = domain->domain.rerank;
  std::erase_if(out.domain.rerank, [&](const templates::RerankList& list) {
    return !list.engine.empty() && !exchange.snapshot->engines.may_ask(exchange.key, list.engine);
  });
  if (!knows_lists(*domain)) return out;
  out.domain.name = domain->domain.name;
  out.domain.depth = domain->domain.depth;
  out.model = domain->model;
  return out;
}

/// The index that knows what words mean in a domain: the first of its embedded indexes with latent semantic
/// indexing that the key may ask; empty if there is none.
std::string index_of_meaning(const Exchange& exchange, const LoadedDomain* domain) {
  if (domain == nullptr) return {};
  const LoadedEngines& engines = exchange.snapshot->engines;
  std::set<std::string_view> tried;
  for (const templates::SearchTemplate& item : domain->domain.templates)
    for (const std::string& name : item.engines) {
      const auto index = engines.indexes.find(name);
      if (index == engines.indexes.end() || !engines.may_ask(exchange.key, name)) continue;
      if (tried.insert(index->second).second && fetchers::is_lsi_index(index->second)) return index->second;
    }
  return {};
}

struct Reranked {
  std::size_t document = 0;
  double score = 0;  ///< within [0, 1]
};

/// Adds the documents that no list ranks behind the others, so that a reranker gets them too.
void add_unranked(const RerankRequest& request, SearchAnswer& answer) {
  std::vector<bool> is_ranked(request.texts.size(), false);
  for (const FusedResult& result : answer.results) is_ranked[std::stoul(result.hit.key)] = true;
  for (std::size_t i = 0; i < is_ranked.size(); ++i) {
    if (is_ranked[i]) continue;
    FusedResult& result = answer.results.emplace_back();
    result.hit.key = result.hit.url = std::to_string(i);
    result.hit.snippet = request.texts[i];
  }
}

/// The list by meaning. If the index cannot tell in time, the list is absent, and the answer says so.
fetchers::FetchedList list_by_meaning(const std::string& index, const RerankRequest& request,
                                      std::span<const std::string_view> texts, const Deadline& deadline) {
  const auto scores = fetchers::score_meaning(index, request.query, texts, deadline);
  if (scores) return list_by(kMeaning, *scores, request.texts);
  fetchers::FetchedList out;
  out.query.template_id = kMeaning;
  out.failure =
      scores.error().code == Code::try_again ? fetchers::Failure::timeout : fetchers::Failure::bad_answer;
  out.message = scores.error().text;
  return out;
}

/// The lists that are made of the documents here.
std::vector<fetchers::FetchedList> own_lists(const RerankRequest& request, const std::string& index,
                                             const Deadline& deadline) {
  const std::vector<std::string_view> texts(request.texts.begin(), request.texts.end());
  const auto scores = fetchers::score_texts(request.query, texts);
  std::vector<fetchers::FetchedList> out;
  out.push_back(list_by(kWords, scores.words, request.texts));
  out.push_back(list_by(kParts, scores.parts, request.texts));
  if (!index.empty()) out.push_back(list_by_meaning(index, request, texts, deadline));
  return out;
}

/// Whether the scores of an answer mean what they meant when the model was calibrated: each of the model's
/// lists is among the answer's.
bool has_all_lists(const fusion::Model& model, const SearchAnswer& answer) {
  return std::ranges::all_of(model.features, [&](const fusion::Feature& wanted) {
    return is_derived(wanted) ||
           std::ranges::find(answer.features, wanted.name, &fusion::Feature::name) != answer.features.end();
  });
}

/// All documents, best first. Those that no list ranks follow in the caller's order, with score 0.
std::vector<Reranked> reranked(const PreparedSearch& search, const Clock& clock, const RerankRequest& request,
                               const std::string& index, SearchAnswer& answer) {
  answer.domain = search.domain.domain.name;
  answer.query = request.query;
  fuse_lists(search.domain, own_lists(request, index, Deadline(clock, search.end - clock.now())), answer);
  add_unranked(request, answer);
  add_second_stage(search, clock, answer);
  if (answer.results.size() < request.texts.size()) add_unranked(request, answer);
  const bool is_calibrated =
      search.domain.model && search.domain.model->relevance && has_all_lists(*search.domain.model, answer);
  std::vector<Reranked> out;
  for (const FusedResult& result : answer.results)
    out.push_back(
        {std::stoul(result.hit.key), is_calibrated ? result.relevance.value_or(0.0) : result.relative_score});
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
  JsonObject meta{{"api_version", JsonObject{{"version", "2"}}}};
  JsonArray warnings;
  for (const fetchers::FetchedList& list : answer.lists)
    if (list.has_failed()) warnings.emplace_back(failed_name(list) + ": " + failure_text(list));
  if (!warnings.empty()) meta["warnings"] = std::move(warnings);
  out["meta"] = std::move(meta);
  return out;
}

}  // namespace

Answered handle_rerank(Gate& gate, const Exchange& exchange) {
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto request, read_rerank(body));
  if (auto refused =
          gate.admit_more(exchange, static_cast<double>(exchange.request.body.size()) / kBytesPerToken))
    return std::move(*refused);
  const Clock& clock = machine_clock();
  const LoadedDomain* named = exchange.find_domain(request.model);
  const LoadedDomain* chosen = named != nullptr ? named : exchange.find_domain("");
  const LoadedDomain domain = ordering_domain(exchange, chosen);
  PreparedSearch search{*exchange.snapshot,
                        domain,
                        {},
                        {},
                        clock.now() + duration_of(exchange.snapshot->config.deadline_seconds)};
  set_client(exchange, search);
  if (const std::size_t asked = rerankers_asked(domain.domain, search.request); asked > 0)
    if (auto refused = gate.admit_search(exchange, asked)) return std::move(*refused);
  SearchAnswer answer;
  auto order = reranked(search, clock, request, index_of_meaning(exchange, chosen), answer);
  order.resize(std::min(order.size(), request.top_n));
  HttpResponse response = request.is_tei
                              ? make_response(200, "application/json", to_text(tei_json(request, order)))
                              : json_response(rerank_json(request, order, answer));
  if (const std::string missing = failed_engines(answer); !missing.empty())
    response.set("X-Unresponsive-Engines", missing);
  return response;
}

}  // namespace metafuse::service
