#pragma once

#include "core/json.h"
#include "core/result.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// What a body of POST /v1/search asks for.
struct NativeSearch {
  SearchRequest search;
  int limit = 30;
  bool is_explained = false;
  SitePreferences sites;

  /// Whether a variant skips the syntax filter, which needs a key with the role raw.
  bool is_raw() const;
  std::size_t first() const {
    return static_cast<std::size_t>(search.page - 1) * static_cast<std::size_t>(limit);
  }
};

/// Reads {"query","domain","slots":{},"variants":[{"template","text"}],"engines":[],"limit","page","explain",
/// "deadline_ms","depth","language","time_range","safe_search","sites":{"raise":[],"lower":[],"block":[]}}.
///
/// errors: usage that names the member; members that do not exist are refused
Result<NativeSearch> read_native_search(const JsonObject& body);

}  // namespace metafuse::service
