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

// Fuses lists that callers bring, as `POST /v1/fuse` and `metafuse fuse --json` both do. A request is one
// JSON object; docs/api.md describes it. Nothing here asks an engine.

inline constexpr std::size_t kMaxFuseBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxFuseLists = 64;
inline constexpr std::size_t kMaxFuseResults = 1000;
inline constexpr std::size_t kMaxFuseRequests = 1000;

/// What a server does with a domain's fused answer before it is shown: orders it by what was learned online
/// or by two models in turn, and stores what is shown, which sets shown.search_id.
using ServeFused = std::function<SharedAnswer(SharedAnswer answer, std::size_t limit, ShownResults& shown)>;

/// Where lists are fused.
struct FusingPlace {
  const Snapshot* snapshot = nullptr;  ///< whose domains may be named; nullptr for none
  const KeyConfig* key = nullptr;      ///< whose scope holds; nullptr for all domains
  ServeFused serve;                    ///< empty where nothing is learned or stored
};

/// Answers one request, a JSON object, or `{"requests": [...]}` by `{"answers": [...]}` in order; a request
/// of a batch that is refused has `{"status", "detail"}` in its place.
///
/// out:    the answer as JSON text
/// errors: usage: what is wrong, with the place of the list and result
/// cost:   O(results log results) for the methods that look at each list alone, see
///         fusion/unsupervised otherwise
Result<std::string> fuse_text(std::string_view text, const FusingPlace& place);

/// The same for every line of a text (NDJSON) in order, blank ones left out, with a line end after each
/// answer. A line that is refused is answered by `{"status", "detail"}`.
///
/// in: on_refusal - called for each of those; may be empty
std::string fuse_lines(std::string_view text, const FusingPlace& place,
                       const std::function<void()>& on_refusal = {});

}  // namespace metafuse::service
