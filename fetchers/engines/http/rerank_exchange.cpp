#include "fetchers/engines/http/rerank_exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "core/json.h"
#include "core/json_members.h"
#include "core/text.h"
#include "fetchers/engines/http/http_readers.h"

namespace metafuse::fetchers {
namespace {

/// Rerankers read some hundred words of a text; more only costs time.
constexpr std::size_t kMostDocumentBytes = 4000;

/// A name of `api:` and what it stands for.
struct RerankApiName {
  std::string_view name;
  RerankApi api;
  std::string_view path;
};
constexpr RerankApiName kRerankApis[] = {
    {"jina", RerankApi::jina, "/v1/rerank"},      {"cohere", RerankApi::jina, "/v2/rerank"},
    {"llama.cpp", RerankApi::jina, "/v1/rerank"}, {"vllm", RerankApi::jina, "/v1/rerank"},
    {"voyage", RerankApi::voyage, "/v1/rerank"},  {"tei", RerankApi::tei, "/rerank"},
};

std::string text_of(const Hit& hit) {
  std::string text = hit.title;
  if (!hit.snippet.empty()) text += (text.empty() ? "" : "\n") + hit.snippet;
  return to_valid_utf8(truncate_utf8(text, kMostDocumentBytes));
}

Error wrong(const std::string& what) {
  return fail(Code::bad_data, "the reranker's answer " + what);
}

/// The list of scores in an answer; nullptr if there is none.
const JsonArray* scores_in(RerankApi api, const Json& answer) {
  if (api == RerankApi::tei) return answer.if_array();
  return JsonMembers(answer).array(api == RerankApi::voyage ? "data" : "results");
}

Result<std::pair<std::size_t, double>> read_score(RerankApi api, const Json& item, std::size_t documents) {
  const JsonMembers result(item);
  if (!result.is_object()) return wrong("has a result that is no object");
  const Json* index = result.find("index");
  boost::system::error_code error;
  const auto at = index == nullptr ? 0 : index->to_number<std::uint64_t>(error);
  if (index == nullptr || error) return wrong("has a result without an index");
  if (at >= documents) return wrong(fmt::format("names document {} of {}", at, documents));
  const double value = result.number_or(api == RerankApi::tei ? "score" : "relevance_score", std::nan(""));
  if (!std::isfinite(value)) return wrong(fmt::format("has no number as the score of document {}", at));
  return std::pair(static_cast<std::size_t>(at), value);
}

}  // namespace

void read_rerank(EngineBlock& block) {
  HttpAccess& access = block.engine.access.emplace<HttpAccess>();
  const std::string api = block.text("api", "jina");
  const auto known = std::find_if(std::begin(kRerankApis), std::end(kRerankApis),
                                  [&](const RerankApiName& one) { return one.name == api; });
  block.check("api", known != std::end(kRerankApis),
              "\"" + api + "\" is unknown; known are jina, cohere, voyage, tei, llama.cpp and vllm");
  const RerankApiName& shape = known == std::end(kRerankApis) ? kRerankApis[0] : *known;
  access.rerank = shape.api;
  access.rerank_model = block.text("model");
  access.url = take_base_url(block) + std::string(shape.path);
  access.method = "POST";
  access.content_type = "application/json";
  access.body = "{{}}";  // replaced by rerank_body()
  take_key_header(block, access, "Authorization", "Bearer ");
  take_http_keys(block, access);
}

std::string rerank_body(const HttpAccess& access, std::string_view query, std::span<const Hit> documents) {
  JsonArray texts;
  for (const Hit& hit : documents) texts.emplace_back(text_of(hit));
  JsonObject body;
  if (!access.rerank_model.empty()) body["model"] = access.rerank_model;
  body["query"] = to_valid_utf8(query);
  if (access.rerank == RerankApi::tei) {
    body["texts"] = std::move(texts);
    body["truncate"] = true;
  } else {
    body["documents"] = std::move(texts);
    body[access.rerank == RerankApi::voyage ? "top_k" : "top_n"] = documents.size();
  }
  return to_text(body);
}

Result<RankedList> read_rerank_answer(const HttpAccess& access, std::string_view body,
                                      std::span<const Hit> documents) {
  auto answer = parse_json(body, "the reranker's answer", Code::bad_data);
  if (!answer) return wrong("is no JSON");
  const JsonArray* items = scores_in(access.rerank, *answer);
  if (items == nullptr) return wrong("has no list of results");
  if (items->size() != documents.size())
    return wrong(fmt::format("has {} scores for {} documents", items->size(), documents.size()));
  std::vector<std::optional<double>> scores(documents.size());
  for (const Json& item : *items) {
    TRY(const auto score, read_score(access.rerank, item, documents.size()));
    if (scores[score.first]) return wrong(fmt::format("names document {} twice", score.first));
    scores[score.first] = score.second;
  }
  std::vector<std::size_t> order(documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *scores[a] > *scores[b]; });
  RankedList list;
  for (const std::size_t at : order) {
    list.hits.push_back(documents[at]);
    list.hits.back().score = scores[at];
  }
  return list;
}

}  // namespace metafuse::fetchers
