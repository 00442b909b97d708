#pragma once

// What is sent to a reranker, and how its answer is read. Jina, Cohere, Voyage, Text Embeddings Inference,
// llama.cpp and vLLM have almost the same shape.

#include <span>
#include <string>
#include <string_view>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

/// Reads a definition of the type rerank: base_url, api, model, api_key and the keys of all HTTP engines.
void read_rerank(EngineBlock& block);

/// The body of the request: the query, and each document's title and snippet as one text.
///
/// in: access - with a reranker's shape
std::string rerank_body(const HttpAccess& access, std::string_view query, std::span<const Hit> documents);

/// The documents in the order of the answer's scores, highest first, each with its score; at equal scores in
/// the order in which they were sent.
///
/// errors: bad_data: not JSON in the API's shape, another number of scores than documents, an index that is
///         no document's or occurs twice, a score that is no finite number
Result<RankedList> read_rerank_answer(const HttpAccess& access, std::string_view body,
                                      std::span<const Hit> documents);

}  // namespace metafuse::fetchers
