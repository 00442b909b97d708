#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
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

/// What a caller's result has beside its id and score. It comes back unchanged.
struct CallerMembers {
  std::optional<std::string_view> url, title, snippet;
  const Json* fields = nullptr;

  bool is_empty() const { return !url && !title && !snippet && fields == nullptr; }
};

/// A caller's list. Its results are in FuseRequest::query.
struct CallerList {
  std::string name;
  double weight = 1;
  bool has_weight = false;
  bool has_scores = true;                   ///< every result has a score
  std::vector<std::uint32_t> members = {};  ///< by position: 0, or a place in FuseRequest::members plus 1
};

/// A list that holds a document, and where; the better rank comes first.
struct Holder {
  std::uint32_t rank = 0;  ///< from 1
  std::uint32_t list = 0;

  auto operator<=>(const Holder&) const = default;
};

/// One request to fuse, read and checked. It points into the JSON that it was read from, which must
/// outlive it.
struct FuseRequest {
  std::string domain;                            ///< empty: `method` fuses
  const fusion::FusionMethod* method = nullptr;  ///< nullptr: the domain's model fuses
  fusion::FusionOptions options;
  std::string text;
  BaseQuery slots;
  /// The documents' identities, in the order in which the lists first name them, and the lists, best first:
  /// position 0 has rank 1, and no document occurs twice. Results without a score have 0.
  fusion::QueryLists query;
  std::vector<CallerList> lists;  ///< as in `query`
  std::vector<CallerMembers> members;
  std::list<std::string> keys;             ///< owns the identities that were made from URLs
  std::list<Json> fields;                  ///< owns those of `members` that are in no tree
  std::vector<Holder> holders;             ///< of the documents, one after another; a document's by list
  std::vector<std::size_t> holder_begins;  ///< by document: its first one, and finally holders.size()
  std::size_t limit = 0;                   ///< results in the answer, 0 for all
  bool is_explained = false;
  double min_relevance = 0;          ///< results below it are left out; 0: none are
  std::vector<std::string> notices;  ///< warnings for the caller about a request that is accepted

  std::span<const Holder> holders_of(std::size_t document) const {
    return {holders.data() + holder_begins[document], holders.data() + holder_begins[document + 1]};
  }
  /// Requires that some list holds the document, which is so for every document of a request.
  std::uint32_t best_rank(std::size_t document) const;
  /// What a result has beside id and score, or nullptr.
  ///
  /// in: rank - from 1
  const CallerMembers* members_of(std::size_t list, std::uint32_t rank) const {
    const std::vector<std::uint32_t>& places = lists[list].members;
    const std::uint32_t place = rank <= places.size() ? places[rank - 1] : 0;
    return place == 0 ? nullptr : &members[place - 1];
  }
};

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

/// As fuse_text() for a request that takes less than about a tenth of a millisecond: one without mistakes, of
/// few results, for a method that adds up what each list gives, and without explanations. Nothing for any
/// other, and none that is refused.
std::optional<std::string> small_fuse_text(std::string_view text, const FusingPlace& place);

/// As fuse_text() for every line of a text (NDJSON) in order, except blank lines. Each answer ends with a
/// line end. A refused line is answered by `{"status", "detail"}`.
///
/// in: on_refusal - called for each refused line; may be empty
std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal = {});

}  // namespace metafuse::service
