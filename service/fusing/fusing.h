#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/tracking_parameters.h"
#include "service/cache/answer_cache.h"
#include "service/config/snapshot.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

// Fuses lists that callers supply, for both `POST /v1/fuse` and `metafuse fuse --json`. A request is one JSON
// object; docs/api.md describes it. Nothing here asks an engine.

inline constexpr std::size_t kMaxFuseBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxFuseLists = 64;
inline constexpr std::size_t kMaxFuseResults = 1000;
inline constexpr std::size_t kMaxFuseRequests = 1000;

/// What a server does with a domain's fused answer before it is shown: applies the online reranker or
/// interleaving, and stores what is shown, which sets shown.search_id.
using ServeFused = std::function<SharedAnswer(SharedAnswer answer, std::size_t limit, ShownResults& shown)>;

/// The context in which lists are fused.
struct FusingPlace {
  const Snapshot* snapshot = nullptr;  ///< its domains may be named; nullptr: no domain may
  const KeyConfig* key = nullptr;      ///< key that limits the domains; nullptr for all domains
  ServeFused serve;                    ///< empty if nothing is learned or stored
};

/// Answers one request, a JSON object, or `{"requests": [...]}` by `{"answers": [...]}` in order; a refused
/// request of a batch is answered by `{"status", "detail"}`.
///
/// out:    the answer as JSON text
/// errors: usage: what is wrong, and in which list and result
/// cost:   O(results log results) for methods that score each list separately; see fusion/unsupervised for
///         the others
Result<std::string> fuse_text(std::string_view text, const FusingPlace& place);

/// As fuse_text() for every line of a text (NDJSON) in order, except blank lines. Each answer ends with a
/// line end. A refused line is answered by `{"status", "detail"}`.
///
/// in: on_refusal - called for each refused line; may be empty
std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal = {});

}  // namespace metafuse::service
