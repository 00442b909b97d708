#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/search/search_request.h"

namespace metafuse::service {

enum class Format { html, json, csv, rss };

/// What a request in SearXNG's dialect asks for: the search, and how to show it.
struct SearchParameters {
  SearchRequest search;
  Format format = Format::html;
  int limit = 30;
  bool wants_explanation = false;

  std::size_t first() const {
    return static_cast<std::size_t>(search.page - 1) * static_cast<std::size_t>(limit);
  }
};

/// Whether the answer can be written as the request wants it; SearXNG answers 403 to what it does not.
bool has_known_format(const Fields& fields);

/// Reads q, domain, slot.NAME, format, pageno, limit, explain, language, time_range, safesearch, engines,
/// categories and timeout_limit; other parameters are ignored, as SearXNG does.
///
/// errors: usage that names the parameter
Result<SearchParameters> read_parameters(const Fields& fields, const Snapshot& snapshot);

inline constexpr int kMaxLimit = 200;

}  // namespace metafuse::service
