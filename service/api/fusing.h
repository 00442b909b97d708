#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "fusion/unsupervised/fusion_method.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/search/answer_cache.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

// Fuses lists that callers supply, for both `POST /v1/fuse` and `metafuse fuse --json`. A request is one JSON
// object; docs/api.md describes it. Nothing here asks an engine.

inline constexpr std::size_t kMaxFuseBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxFuseLists = 64;
inline constexpr std::size_t kMaxFuseResults = 1000;
inline constexpr std::size_t kMaxFuseRequests = 1000;
/// Most explained results times lists of one request.
inline constexpr std::size_t kMaxExplainedCells = 100'000;
/// An answer has at most this many bytes per byte of its request, plus the constant part.
inline constexpr std::size_t kMaxFuseAnswerFactor = 16;
inline constexpr std::size_t kMaxFuseAnswerBytes = std::size_t{1} << 20;

/// One result in a caller's list.
struct CallerResult {
  std::uint32_t document = 0;           ///< index into FuseRequest::documents
  double score = 0;                     ///< 0 without a score
  const JsonObject* members = nullptr;  ///< the result as it was sent; nullptr if it has only id and score
};

/// A caller's list, best first: position 0 has rank 1, and no document occurs twice.
struct CallerList {
  std::string name;
  double weight = 1;
  bool has_weight = false;
  bool has_scores = true;  ///< every result has a score
  std::vector<CallerResult> results;
};

/// One request to fuse, read and checked. It points into the JSON that it was read from, which must
/// outlive it.
struct FuseRequest {
  std::string domain;                            ///< empty: `method` fuses
  const fusion::FusionMethod* method = nullptr;  ///< nullptr: the domain's model fuses
  fusion::FusionOptions options;
  std::string text;
  BaseQuery slots;
  std::vector<std::string_view> documents;  ///< identities, in the order in which the lists first name them
  std::deque<std::string> keys;             ///< owns the identities that were made from URLs
  std::vector<CallerList> lists;
  std::vector<std::uint32_t> ranks;  ///< documents x lists; 0 if the list does not hold the document
  std::size_t limit = 0;             ///< results in the answer, 0 for all
  bool is_explained = false;
  double min_relevance = 0;          ///< results below it are left out; 0: none are
  std::vector<std::string> notices;  ///< warnings for the caller about a request that is accepted

  std::uint32_t rank(std::size_t document, std::size_t list) const {
    return ranks[document * lists.size() + list];
  }
  /// Requires that some list holds the document, which is so for every document of a request.
  std::uint32_t best_rank(std::size_t document) const;
};

/// Whether a method compares each document with every other one.
bool compares_documents(const fusion::FusionMethod& method);

/// errors: usage, naming the wrong member, list and result
Result<FuseRequest> read_fuse_request(const JsonObject& body, const TrackingParameters& tracking);

/// What a server does with a domain's fused answer before it is shown: applies the online reranker or
/// interleaving and answer.cut, and stores what is shown, which sets shown.search_id.
using ServeFused = std::function<SharedAnswer(SharedAnswer answer, std::size_t limit, ShownResults& shown)>;

/// Decides whether a request may be fused.
///
/// in: tokens - what the request costs, in tokens of the gate; one stands for about 25 ms of processor time
using AdmitFusion = std::function<std::optional<AccessRefusal>(double tokens)>;

/// The context in which lists are fused.
struct FusingPlace {
  const Snapshot* snapshot = nullptr;  ///< its domains may be named; nullptr: no domain may
  const KeyConfig* key = nullptr;      ///< key that limits the domains; nullptr for all domains
  ServeFused serve;                    ///< empty if nothing is learned or stored
  AdmitFusion admit;                   ///< empty if everything may be fused
};

/// Answers one request, a JSON object, or `{"requests": [...]}` by `{"answers": [...]}` in order; a refused
/// request of a batch is answered by `{"status", "detail"}`.
///
/// out:    the answer as JSON text
/// errors: 400 what is wrong, and in which list and result; 422 the answer or its explanations would be too
///         large; otherwise what `place.admit` says
/// cost:   O(results log results) for methods that score each list separately; see fusion/unsupervised for
///         the others
OrRefusal<std::string> fuse_text(std::string_view text, const FusingPlace& place);

/// As fuse_text() for every line of a text (NDJSON) in order, except blank lines. Each answer ends with a
/// line end. A refused line is answered by `{"status", "detail"}`.
///
/// in: on_refusal - called for each refused line; may be empty
std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal = {});

}  // namespace metafuse::service
